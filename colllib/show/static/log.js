(() => {
  const root = document.currentScript.parentElement;
  const form = root.querySelector("form"), plot = root.querySelector(".cl-log-plot"), says = root.querySelector("output");
  const ranges = JSON.parse(root.dataset.ranges), gpus = JSON.parse(root.dataset.gpus);
  const kinds = JSON.parse(root.dataset.kinds); // pattern and preset of every GPU, as colllib.topology.machines tries them
  const PROGRAMS = { all_reduce: "all-reduce", all_gather: "all-gather", reduce_scatter: "reduce-scatter", alltoall: "all-to-all", sendrecv: "sendrecv" };
  const TYPES = "float half double int8 uint8 int16 uint16 int32 uint32 int64 uint64 bfloat16 fp16 bf16 fp32 int char fp8_e4m3 fp8_e5m2 f8e4m3 f8e5m2".split(" ");
  const WRONG = /^([1-9]\d*|(?!1e\+00$)[1-9][\d.]*e\+\d+|.*\*)$/; // as Row.failed has it
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

  // size and bus bandwidth of the half out of place, as colllib.measured.read takes them
  const rowOf = (line) => {
    const bare = line.replace(/\[\d+,\d+\]<std(out|err)>:?/g, "").replace(/^\s*\[?\d+\]?:\s/, "")
      .replace(/\s\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$/, ""); // of -S
    const words = bare.trim().split(/\s+/).map((word) => /^\d{1,3}([,_]\d{3})+$/.test(word) ? word.replace(/[,_]/g, "") : word);
    const place = words.findIndex((word) => TYPES.includes(word));
    if (place < 2 || !words.slice(place - 2, place).every((word) => NUMBER.test(word))) return null;
    const rest = words.slice(place + 1), redop = /^[a-z]{3,6}$/.test(rest[0] || "") ? rest.shift() : "";
    const first = { 4: 0, 8: 0, 5: 1, 9: 1, 16: 0, 17: 1 }[rest.length]; // 16: with the four columns of -I in each half
    const numbers = first === undefined ? [] : rest.slice(first, first + 3);
    return numbers.length === 3 && numbers.every((word) => NUMBER.test(word))
      && numbers[2] >= 0 ? { size: Number(words[place - 2]), bus: Number(numbers[2]), redop, wrong: [3, 3 + (rest.length - first) / 2].some((k) => WRONG.test(rest[first + k])) }
      : { unread: true };
  };
  const read = (text) => {
    const tables = text.split(/^.*#?\s*size\s+count.*$/m).map((part) => part.split("\n").map(rowOf).filter(Boolean)).filter((part) => part.some((row) => row.unread || row.size > 0));
    const parsed = tables.flat(), rows = parsed.filter((row) => !row.unread && row.size > 0);
    const repeated = rows.filter((row, k) => k && row.size === rows[k - 1].size).length;
    const several = new Set(rows.map((row) => row.size)).size > 1; // one size alone is repeated by one job
    const mixed = several && repeated >= 2 && repeated >= rows.length / 5;
    const ranks = Math.max(0, ...[...text.matchAll(/#\s+Rank\s+(\d+)\s|last rank (\d+),/g)].map(([, rank, last]) => 1 + Number(rank || last)));
    const wrong = rows.some((row) => row.wrong) || /Out of bounds values\s*:\s*[1-9]\d* FAILED/.test(text);
    const unread = parsed.filter((row) => row.unread).length; // a header alone, and nothing that is left of rows
    const hung = !parsed.length && /^.*#\s*size\s+count|#\s+Rank\s+\d+\s/m.test(text) && !/\d\.\d+\s+\d+\.\d|Avg bus bandwidth/.test(text);
    return { rows, unread, mixed, ranks, wrong, hung, tables: tables.length };
  };
  // the GPU that the lines of the ranks name, its preset ("" without one), and how many hosts they name
  const hardware = (text) => {
    const lines = [...text.matchAll(/#\s+Rank\s+\d+\s.*?\son\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s+(\S.*?)\s*$/gm)];
    const gpu = lines[0]?.[2], spoken = (gpu || "").toLowerCase().replace(/[-_]/g, " ");
    const kind = kinds.find(([pattern]) => new RegExp(`(?:${pattern})(?!\\d)`).test(spoken));
    return { gpu, preset: kind ? kind[1] : "", hosts: new Set(lines.map(([, host]) => host)).size };
  };
  const size = (bytes) => {
    const power = Math.min(4, Math.max(0, Math.floor(Math.log2(bytes) / 10)));
    return `${Number((bytes / 1024 ** power).toPrecision(3))} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
  };
  const gb = (value) => `${Number(value.toPrecision(3))} GB/s`;

  const draw = (rows, [low, high] = []) => { // the range, unless it is another machine's or collective's
    const W = Math.min(460, plot.clientWidth || 460), H = 240, L = 44, R = 12, T = 22, B = 36;
    const sizes = rows.map((row) => Math.log2(row.size)), top = Math.max(...rows.map((row) => row.bus)), most = Math.max(high || 0, top) * 1.05;
    const [a, b] = [Math.min(...sizes), Math.max(...sizes)];
    const x = (s) => L + (W - L - R) * (b > a ? (s - a) / (b - a) : 0.5), y = (v) => H - B - (H - B - T) * v / most;
    const words = (at, up, anchor, text) => `<text x="${at}" y="${up}" text-anchor="${anchor}" fill="currentColor">${text}</text>`;
    const points = rows.map((row, k) => `${x(sizes[k]).toFixed(1)} ${y(row.bus).toFixed(1)}`);
    plot.innerHTML = `<svg viewBox="0 0 ${W} ${H}" font-size="12" aria-hidden="true">`
      + (high ? `<rect x="${L}" y="${y(high)}" width="${W - L - R}" height="${y(low) - y(high)}" fill="var(--cl-s3,#17703a)" opacity=".18"/>` : "")
      + (high ? [0, low, high] : [0, top]).map((v) => words(L - 5, y(v) + 4, "end", Math.round(v))).join("")
      + words(2, 12, "start", `bus bandwidth in GB/s${high ? "; healthy range shaded" : ""}`)
      + words(L, H - 18, "start", size(rows[0].size)) + words(W - R, H - 18, "end", size(rows.at(-1).size))
      + words((L + W - R) / 2, H - 4, "middle", "message")
      + `<path d="M${L} ${y(0)}H${W - R}" stroke="currentColor"/>`
      + `<path d="M${points.join("L")}" fill="none" stroke="var(--cl-s1,#0b5cad)" stroke-width="2"/>`
      + points.map((p) => `<circle cx="${p.split(" ")[0]}" cy="${p.split(" ")[1]}" r="2.6" fill="var(--cl-s1,#0b5cad)"/>`).join("") + "</svg>";
  };
  const tell = (text) => { if (says.textContent !== text) says.textContent = text; }; // all that is written is read out
  const choose = () => { // the collective and the machine that a new log names; both can be chosen anew
    const text = form.elements.log.value, { preset, hosts } = hardware(text), { collective, machine, boxes } = form.elements;
    const [, program] = /\b(all_reduce|all_gather|reduce_scatter|alltoall|sendrecv)_perf/.exec(text) || [];
    if (program) collective.value = PROGRAMS[program];
    if (!preset) return;
    if (machine.value.split(",")[0] !== preset) machine.value = preset;
    boxes.value = gpus[preset] > 8 ? Math.ceil(read(text).ranks / gpus[preset]) : hosts; // a rack is many hosts
  };
  const show = () => {
    const { collective, machine, boxes } = Object.fromEntries(new FormData(form));
    const named = (many) => machine.replace(/,|$/, (comma) => `:${many}${comma}`), on = named(boxes);
    const { rows, unread, mixed, ranks, wrong, hung, tables } = read(form.elements.log.value);
    const range = ranges[collective][machine][boxes - 1], most = ranges[collective][machine].length;
    plot.innerHTML = "";
    if (!range) return tell(`Boxes: a whole number, here from 1 to ${most}; of more, colllib diagnose LOG --on ${named("N")} knows the range.`);
    if (hung) return tell("No row follows the header: the test hung, crashed or still runs, so this is no measurement.");
    if (!rows.length) return tell("No row of an nccl-tests table in this text. Other tables are for colllib diagnose LOG.");
    if (tables > 1) return tell(`${tables} tables stand in this text: leave one of them.`);
    if (mixed) return tell("The same size stands in row after row: several jobs wrote into one file, so this is no measurement.");
    if (!rows.some((row) => row.bus)) return tell("Every bus bandwidth is 0: jobs of one rank each, so this is no measurement.");
    if (wrong) return tell("Values are wrong by the check of the program, so no speed of this run counts.");
    rows.sort((p, q) => p.size - q.size);
    const end = rows.at(-1), small = end.bus < range[0] && end.size < root.dataset.large;
    const place = small ? "too small a message to compare with" : end.bus < range[0] ? "below" : end.bus > range[1] ? "above" : "in";
    const { gpu, preset, hosts } = hardware(form.elements.log.value), rack = gpus[machine] > 8, stranger = gpu && preset !== machine.split(",")[0];
    const others = stranger || (ranks && ranks !== boxes * gpus[machine]), adds = end.redop && end.redop !== "none";
    const other = /reduce/.test(collective) ? rows.every((row) => row.redop === "none") : adds && collective !== "sendrecv";
    const doubt = other ? `Its redop is ${end.redop}, so this is no ${collective}: choose the collective that ran. `
      : gpu && !preset ? `This page has no preset for ${gpu}. `
      : stranger ? `The log names ${gpu}, no GPU of ${machine.split(",")[0]}: another machine ran. `
      : others ? `The log lists ${ranks} ${ranks === 1 ? "rank" : "ranks"}, ${on} has ${boxes * gpus[machine]}: another machine ran. ` : "";
    const unless = place !== "below" ? "" : rack && boxes > 1 ? ", but nobody published a healthy run over several such racks"
      : rack && hosts > 1 ? ", unless only cards join its hosts" : boxes > 1 ? ", unless its cards are fewer or slower" : "";
    draw(rows, doubt ? undefined : range);
    tell(`${rows.length} ${rows.length === 1 ? "row" : "rows"} read${unread ? `, ${unread} not` : ""}. At ${size(end.size)}: ${gb(end.bus)}`
      + (doubt ? `. ${doubt}` : `, ${place} the healthy range of ${on}, ${gb(range[0])} to ${gb(range[1])}${unless}. `)
      + `For causes and confidence: colllib diagnose LOG${others ? "" : ` --on ${on}`}`
      + `${other || collective === "all-reduce" ? "" : ` --primitive ${collective}`}`);
  };
  form.hidden = false;
  form.addEventListener("input", ({ target }) => { if (target.name === "log") choose(); show(); });
  window.addEventListener("resize", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();
