(() => {
  const root = document.currentScript.closest(".cl-log") || document.querySelector(".cl-log"); // in an output, or a file of the book
  const form = root.querySelector("form"), plot = root.querySelector(".cl-log-plot"), says = root.querySelector("output"), table = root.querySelector(".cl-log-table");
  const { ranges, gpus, kinds, widths, borders, sizes, foreseen, spread, published } = Object.fromEntries(
    Object.entries(root.dataset).map(([name, text]) => [name, JSON.parse(text)])); // kinds: pattern and preset of every GPU; widths: bytes of every type
  const LARGE = borders.at(-1);
  const PROGRAMS = { all_reduce: "all-reduce", all_gather: "all-gather", reduce_scatter: "reduce-scatter", alltoall: "all-to-all", sendrecv: "sendrecv" };
  const WRONG = /^([1-9]\d*|(?!1e\+00$)[1-9][\d.]*e\+\d+|.*\*)$/; // as Row.failed has it
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const UNIT = /\(\s*([mnµμu]?s|[kKMGT]?i?[Bb](?:its?|ytes?)?(?:\/s|ps))\s*\)/g, KNOWN = ["us", "µs", "μs", "GB/s", "GBps"];

  // size and bus bandwidth of the half out of place, as colllib.measured.read takes them
  const bare = (line) => line.replace(/\[\d+,\d+\]<std(out|err)>:?/g, "").replace(/^\s*\[?\d+\]?:\s/, "")
    .replace(/\s\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$/, "").trim(); // of -S
  const lastDigit = (word) => {
    const [digits, power] = word.toLowerCase().split("e");
    return 10 ** ((power || 0) - (digits.split(".")[1] || "").length);
  };
  // algbw is size over time; where a message is in parts of one rank each, programs up to June 2020 leave one part out
  const agrees = (size, parts, micro, rate) => {
    const rounded = 0.02 + lastDigit(micro) / micro + lastDigit(rate) / rate, times = size / micro / 1e3 / rate;
    return [1, parts > 1 ? 1 - 1 / parts : 1].some((share) => Math.abs(times * share - 1) <= rounded);
  };
  const rowOf = (launch) => (line) => { // with -C the time is that of the launch, but the rates are of the whole call
    const words = bare(line).split(/\s+/).map((word) => /^\d{1,3}([,_]\d{3})+$/.test(word) ? word.replace(/[,_]/g, "") : word);
    const place = words.findIndex((word) => Object.hasOwn(widths, word));
    if (place < 2 || !words.slice(place - 2, place).every((word) => NUMBER.test(word))) return null;
    const rest = words.slice(place + 1), redop = /^[a-z]{3,6}$/.test(rest[0] || "") ? rest.shift() : "";
    const first = { 4: 0, 8: 0, 5: 1, 9: 1, 16: 0, 17: 1 }[rest.length]; // 16: with the four columns of -I in each half
    const numbers = first === undefined ? [] : rest.slice(first, first + 3), [time, rate, bus] = numbers.map(Number);
    if (numbers.length < 3 || !numbers.every((word) => NUMBER.test(word)) || bus < 0) return { unread: "numbers are missing or none" };
    const [size, count] = words.slice(place - 2, place).map(Number);
    if (!launch && size * time * rate && !agrees(size, size / (count * widths[words[place]]), ...numbers)) return { unread: "algbw is not size over time" };
    return { size, time: launch ? rate >= 0.05 && size / rate / 1e3 : time, bus, redop, wrong: [3, 3 + (rest.length - first) / 2].some((k) => WRONG.test(rest[first + k])) };
  };
  const read = (text) => {
    const tables = text.split(/^.*#?\s*size\s+count.*$/m).map((part) => part.split("\n").map(rowOf(/size\s+count.*cpu_?time/i.test(text))).filter(Boolean)).filter((part) => part.some((row) => row.unread || row.size > 0));
    const parsed = tables.flat(), rows = parsed.filter((row) => !row.unread && row.size > 0);
    const repeated = rows.filter((row, k) => k && row.size === rows[k - 1].size).length;
    const several = new Set(rows.map((row) => row.size)).size > 1; // one size alone is repeated by one job
    const mixed = several && repeated >= 2 && repeated >= rows.length / 5;
    const ranks = Math.max(0, ...[...text.matchAll(/#\s+Rank\s+(\d+)\s|last rank (\d+),/g)].map(([, rank, last]) => 1 + Number(rank || last)));
    const wrong = rows.some((row) => row.wrong) || /Out of bounds values\s*:\s*[1-9]\d* FAILED/.test(text);
    const refused = parsed.filter((row) => row.unread), unread = refused.length, why = unread ? `: ${refused[0].unread}` : "";
    const units = text.split("\n").map(bare).filter((line) => /^(#|\(|size\b)/.test(line)).flatMap((line) => [...line.matchAll(UNIT)].map(([, unit]) => unit));
    const foreign = units.find((unit) => !KNOWN.includes(unit));
    // a header alone, and nothing that is left of rows
    const hung = !parsed.length && /^.*#\s*size\s+count|#\s+Rank\s+\d+\s/m.test(text) && !/\d\.\d+\s+\d+\.\d|Avg bus bandwidth/.test(text);
    return { rows, unread, why, foreign, mixed, ranks, wrong, hung, tables: tables.length };
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

  const shareOf = (collective, ranks) => (collective === "sendrecv" ? 1 : (ranks - 1) / ranks * (collective === "all-reduce" ? 2 : 1)); // busbw over algbw
  // what is predicted of a machine: the time of a message, between which shares of the rate healthy runs are, and theirs
  const model = (collective, machine, boxes) => {
    const times = foreseen[collective][machine][boxes - 1], ranks = boxes * gpus[machine], [low, high] = ranges[collective][machine][boxes - 1];
    const share = shareOf(collective, ranks);
    const time = (bytes) => {
      const k = Math.min(sizes.length - 2, Math.max(0, sizes.findLastIndex((known) => known <= bytes)));
      const along = Math.log(bytes / sizes[k]) / Math.log(sizes[k + 1] / sizes[k]);
      return times[k] * (times[k + 1] / times[k]) ** along;
    };
    const bus = (bytes, micro) => bytes * share / micro / 1e3;
    const most = bus(sizes.at(-1), times.at(-1)), few = /all-to-all|sendrecv/.test(collective) || (gpus[machine] > 8 && boxes > 1);
    const band = (region) => (region === borders.length ? [low / most, high / most] : few ? null : spread[Number(boxes > 1)][region]);
    return { time, bus, band, most, others: published[`${collective} ${machine} ${boxes}`] || [] };
  };
  const regionOf = (bytes) => borders.filter((border) => bytes >= border).length;
  const median = (values) => (values.sort((p, q) => p - q)[Math.floor((values.length - 1) / 2)] + values[Math.floor(values.length / 2)]) / 2;
  // below what the largest message is slow: if the last doubling still brings 3 %, its share of the plateau, as for a diagnosis
  const slowBelow = (rows, range) => {
    const end = rows.at(-1), before = rows.findLast((row) => row.size < end.size), large = end.size >= 2 ** 27;
    const [grown, more] = before ? [end.size / before.size, end.bus / before.bus] : [2, large ? 0 : 2];
    return Math.max(range[3], more <= grown ** Math.log2(1.03) ? range[2] : large ? range[2] * (grown - more) / (grown - 1) : 0);
  };
  // for each region of sizes: the share of the predicted rate, that of healthy runs, and the verdict
  const verdicts = (rows, { time, band, most }, slow) => [...borders, Infinity].flatMap((border, region) => {
    const within = rows.filter((row) => regionOf(row.size) === region && row.time > 0);
    if (!within.length) return [];
    const last = region === borders.length; // whose largest message is what the range is for
    const rate = last ? time(within.at(-1).size) / within.at(-1).time : median(within.map((row) => time(row.size) / row.time)), of = band(region);
    const [below, inside, above] = last ? ["below", "in", "above"].map((place) => `${place} the healthy range`) : ["slower than most", "as others", "faster than most"];
    const name = last ? `from ${size(LARGE)} on` : `below ${size(border)}`;
    const [shown, ...healthy] = [rate, ...(of || [])].map((share) => Math.round(100 * share));
    const [at, low, high] = last ? [rate, ...(of || [])] : [shown, ...healthy]; // as printed, where no diagnosis decides
    return [[name, `${shown}%`, of ? `${healthy[0]} to ${healthy[1]}%` : "too few", of ? (last && at < low && at >= slow / most ? "undecided" : at < low ? below : at > high ? above : inside) : "no verdict"]];
  });

  const words = (at, up, anchor, text) => `<text x="${at.toFixed(1)}" y="${up.toFixed(1)}" text-anchor="${anchor}" fill="currentColor">${text}</text>`;
  const micro = (value) => (value < 1e3 ? `${value} µs` : value < 1e6 ? `${value / 1e3} ms` : `${value / 1e6} s`);
  const linear = (most) => { // round values, the last at or above the most
    const raw = most / 4, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= raw);
    return [...Array(Math.ceil(most / step - 1e-9) + 1).keys()].map((k) => Number((k * step).toPrecision(6)));
  };
  const decades = (values) => {
    const first = Math.floor(Math.log10(Math.min(...values)) + 1e-9), last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9));
    return [...Array(last - first + 1).keys()].map((k) => Number(`1e${first + k}`));
  };
  // bus bandwidth over size, and below it the time, in which small messages show; without what is predicted of another machine
  const draw = (rows, on) => {
    const W = Math.min(640, plot.clientWidth || 460), L = 54, R = 14, H = 426, MEASURED = "var(--cl-s1)", PREDICTED = "var(--cl-s2)";
    const [least, most] = [rows[0].size, rows.at(-1).size].map(Math.log2), room = most > least ? 0 : 2, [a, b] = [least - room, most + room];
    const x = (bytes) => L + (W - L - R) * (Math.log2(bytes) - a) / (b - a), logged = rows.filter((row) => row.time > 0);
    const places = on ? [...Array(Math.ceil(4 * (b - a))).keys()].map((k) => 2 ** (a + k / 4)).concat(2 ** b) : [];
    const curve = places.map((bytes) => ({ bytes, time: on.time(bytes), band: on.band(regionOf(bytes)) }));
    const others = on ? on.others.filter(([bytes]) => bytes >= 2 ** a && bytes <= 2 ** b) : [];
    const path = (points) => `M${points.map((point) => point.map((v) => v.toFixed(1)).join(" ")).join("L")}`;
    const panel = (top, bottom, label, value, run, [ticks, name, log]) => { // value of bytes and microseconds
      const scale = log ? Math.log10 : Number, [low, high] = [scale(ticks[0]), scale(ticks.at(-1))];
      const y = (v) => Math.min(bottom, bottom - (bottom - top) * (scale(v) - low) / (high - low));
      const at = (bytes, time) => [x(bytes), y(value(bytes, time))];
      const bands = [...borders, Infinity].map((_, region) => curve.filter(({ bytes, band }) => band && regionOf(bytes) === region)).filter((part) => part.length > 1)
        .map((part) => [0, 1].map((k) => part.map(({ bytes, time, band }) => at(bytes, time / band[k])))).map(([down, up]) => `${path(down.concat(up.reverse()))}z`);
      return ticks.map((v) => `<path d="M${L} ${y(v).toFixed(1)}H${W - R}" stroke="var(--cl-line,#c3c9d0)"/>${words(L - 6, y(v) + 4, "end", name(v))}`).join("")
        + words(2, top - 10, "start", label) + (bands.length ? `<path d="${bands.join("")}" fill="${PREDICTED}" opacity=".18"/>` : "")
        + (others.length ? `<path d="${others.map(([bytes, time]) => `${path([at(bytes, time)])}h0`).join("")}" stroke="var(--cl-s8,#57606a)" opacity=".6" stroke-width="4.5" stroke-linecap="round"/>` : "")
        + (on ? `<path d="${path(curve.map(({ bytes, time }) => at(bytes, time)))}" fill="none" stroke="${PREDICTED}" stroke-width="2" stroke-dasharray="7 3"/>` : "")
        + `<path d="${path(run.map((row) => [x(row.size), y(row.of)]))}" fill="none" stroke="${MEASURED}" stroke-width="2"/>`
        + run.map((row) => `<circle cx="${x(row.size).toFixed(1)}" cy="${y(row.of).toFixed(1)}" r="2.6" fill="${MEASURED}"/>`).join("");
    };
    const edges = curve.flatMap(({ bytes, time, band }) => [1, ...(band || [])].map((share) => [bytes, time / share])).concat(others);
    const rates = edges.map(([bytes, time]) => on.bus(bytes, time)).concat(rows.map((row) => row.bus));
    const times = edges.map(([, time]) => time).concat(logged.map((row) => row.time));
    const step = [1, 2, 3, 4, 5, 10, 20].find((many) => (x(2 ** many) - x(1)) > 62) || 40;
    const marks = [least]; // both ends have a label
    for (let k = most; k > least; k -= step) if (k === most || x(2 ** k) - x(2 ** least) > 62) marks.push(k);
    const key = (mark, text) => `<span><svg width="30" height="10" fill="none">${mark}</svg>${text}</span>`;
    const stroke = (hue, more) => `<path d="M0 5H30" stroke="${hue}" stroke-width="2.5"${more}/>`;
    const [first, last] = [rows[0], rows.at(-1)].map((row) => `${gb(row.bus)} at ${size(row.size)}`);
    plot.innerHTML = '<div class="cl-legend" aria-hidden="true">' + key(stroke(MEASURED, ""), "your log")
      + (on ? key(stroke(PREDICTED, ' stroke-dasharray="7 3"'), "predicted") : "")
      + (curve.some(({ band }) => band) ? key(`<path d="M0 0H30V10H0z" fill="${PREDICTED}" opacity=".25"/>`, "where healthy runs are") : "")
      + (others.length ? key('<path d="M8 5h0M22 5h0" stroke="var(--cl-s8,#57606a)" stroke-width="5" stroke-linecap="round"/>', "published runs of such a machine") : "")
      + `</div><svg viewBox="0 0 ${W} ${H}" font-size="12" role="img" aria-label="Your log: bus bandwidth from `
      + `${first} to ${last}, and time${on ? ", with what is predicted; the table below compares them" : ""}.">`
      + panel(28, 210, "bus bandwidth in GB/s", (bytes, time) => on.bus(bytes, time), rows.map((row) => ({ ...row, of: row.bus })), [linear(Math.max(...rates)), String])
      + (times.length ? panel(252, 384, "time, logarithmic", (_, time) => time, logged.map((row) => ({ ...row, of: row.time })), [decades(times), micro, true]) : "")
      + [210, 384].map((up) => `<path d="M${L} ${up}H${W - R}" stroke="currentColor"/>`).join("")
      + marks.map((k) => `<path d="M${x(2 ** k).toFixed(1)} 210v4m0 170v4" stroke="currentColor"/>${words(Math.min(x(2 ** k), W - 20), 401, "middle", size(2 ** k))}`).join("")
      + words((L + W - R) / 2, H - 6, "middle", "message") + "</svg>";
  };
  const tabulate = (lines) => {
    const head = (scope, cell) => `<th scope="${scope}">${cell}</th>`;
    const row = ([name, ...cells]) => `<tr>${head("row", name)}${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
    table.innerHTML = lines.length ? `<table><caption>Shares of the predicted rate, those of four in five healthy runs</caption><tr>${["messages", "your log", "healthy runs", "verdict"].map((cell) => head("col", cell)).join("")}</tr>${lines.map(row).join("")}</table>` : "";
  };
  const tell = (text) => { if (says.textContent !== text) says.textContent = text; }; // all that is written is read out
  const ran = (text) => (/\b(all_reduce|all_gather|reduce_scatter|alltoallv?|sendrecv|reduce|broadcast|gather|scatter|hypercube)_perf/.exec(text) || [])[1];
  const choose = () => { // the collective and the machine that a new log names; both can be chosen anew
    const text = form.elements.log.value, { preset, hosts } = hardware(text), { collective, machine, boxes } = form.elements;
    if (PROGRAMS[ran(text)]) collective.value = PROGRAMS[ran(text)];
    if (!preset) return;
    if (machine.value.split(",")[0] !== preset) machine.value = preset;
    boxes.value = gpus[preset] > 8 ? Math.ceil(read(text).ranks / gpus[preset]) : hosts; // a rack is many hosts
  };
  const show = () => {
    const { collective, machine, boxes } = Object.fromEntries(new FormData(form));
    const named = (many) => machine.replace(/,|$/, (comma) => `:${many}${comma}`), on = named(boxes);
    const { rows, unread, why, foreign, mixed, ranks, wrong, hung, tables } = read(form.elements.log.value);
    const range = ranges[collective][machine][boxes - 1], most = ranges[collective][machine].length;
    plot.innerHTML = table.innerHTML = "";
    form.elements.boxes.setAttribute("aria-invalid", !range);
    if (!range) return tell(`Boxes: a whole number, here from 1 to ${most}; of more, colllib diagnose LOG --on ${named("N")} knows the range.`);
    if (hung) return tell("No row follows the header: the test hung, crashed or still runs, so this is no measurement.");
    if (foreign) return tell(`The header has the unit ${foreign}: times are in us, rates in GB/s.`);
    if (!rows.length) return tell(`No row of an nccl-tests table in this text${why}. Other tables are for colllib diagnose LOG.`);
    if (tables > 1) return tell(`${tables} tables stand in this text: leave one of them.`);
    if (mixed) return tell("The same size stands in row after row: several jobs wrote into one file, so this is no measurement.");
    if (!rows.some((row) => row.bus)) return tell("Every bus bandwidth is 0: jobs of one rank each, so this is no measurement.");
    if (wrong) return tell("Values are wrong by the check of the program, so no speed of this run counts.");
    rows.sort((p, q) => p.size - q.size);
    const end = rows.at(-1), slow = slowBelow(rows, range), low = end.bus < range[0], small = low && end.size < LARGE;
    const place = small ? "too small a message to compare with" : low ? (end.bus < slow ? "below" : "undecided: below") : end.bus > range[1] ? "above" : "in";
    const { gpu, preset, hosts } = hardware(form.elements.log.value), rack = gpus[machine] > 8, stranger = gpu && preset !== machine.split(",")[0];
    const program = ran(form.elements.log.value), strange = program && !PROGRAMS[program], counted = ranks && ranks !== boxes * gpus[machine];
    const share = shareOf(collective, ranks || boxes * gpus[machine]), shown = rows.filter((row) => row.bus > 1 && row.time < 1e7).map((row) => row.bus * row.time * 1e3 / row.size);
    const unlike = shown.length && Math.abs(median(shown) / share - 1) > 0.02, adds = end.redop && end.redop !== "none";
    const summed = /reduce/.test(collective) ? rows.every((row) => row.redop === "none") : adds && collective !== "sendrecv";
    const others = stranger || counted || unlike, other = strange || summed || unlike;
    const doubt = strange ? `This page knows no range of ${program}_perf. ` : summed ? `Its redop is ${end.redop}, so this is no ${collective}: choose the collective that ran. `
      : gpu && !preset ? `This page has no preset for ${gpu}. `
      : stranger ? `The log names ${gpu}, no GPU of ${machine.split(",")[0]}: another machine ran. `
      : counted ? `The log lists ${ranks} ${ranks === 1 ? "rank" : "ranks"}, ${on} has ${boxes * gpus[machine]}: another machine ran. `
      : unlike ? `Its busbw is ${Number(median(shown).toPrecision(3))} times algbw, and ${Number(share.toPrecision(3))} in ${collective} on ${on}: choose the collective and the machine that ran. ` : "";
    const unless = !low || small ? "" : rack && boxes > 1 ? ", but nobody published a healthy run over several such racks"
      : rack && hosts > 1 ? ", unless only cards join its hosts" : boxes > 1 ? ", unless its cards are fewer or slower" : "";
    const predicted = doubt ? undefined : model(collective, machine, boxes);
    draw(rows, predicted);
    tabulate(predicted ? verdicts(rows, predicted, slow) : []);
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
