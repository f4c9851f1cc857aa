// The page's half of colllib.show.views and of colllib.show.lines.plot: the same markup, letter by letter.
const draw = (function () {
  "use strict";
  const NARROW = 520, TOP = 29, RIGHT = 14, BOTTOM = 42, LETTER = 6.6, BESIDE = 0.45, ROOM = 0.07, DECADE = 24;
  const SERIES = "SERIES"; // put in by colllib.show.theme
  const DASHES = ["", "7 3", "2 2.5", "8 3 2 3", "12 3", "4 2", "10 2 2 2 2 2", "1 4"];
  const HALO = ' paint-order="stroke" stroke="var(--cl-bg,#fff)" stroke-width="3"';
  const { fixed, ratio, seconds, format } = race;

  const escape = (text) => String(text).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" }[c]));
  const typeset = (text) => escape(text).replace(/n_(alpha|beta)/g, (_, name) => `<i>n</i><sub>${name === "beta" ? "β" : "α"}</sub>`);
  const color = (hue) => `var(--cl-s${hue % 8 + 1},${SERIES[hue % 8]})`;
  const dashes = (dash) => (dash ? ` stroke-dasharray="${DASHES[dash]}"` : "");
  const px = (value) => String(Math.floor(value * 10 + 0.5) / 10);
  const text = (x, y, anchor, words, extra = "") => `<text x="${px(x)}" y="${px(y)}" text-anchor="${anchor}"${extra}>${escape(words)}</text>`;
  const figure = (alt, body) => `<div class="colllib cl-figure cl-drawn" role="img" aria-label="${escape(alt)}">${body}</div>`;

  // -- axes --------------------------------------------------------------------------------------
  function axis(low, high, base, start, stop, whole = false) {
    const at = (value) => start + (stop - start)
      * (base ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
    return { low, high, base, start, stop, whole, at, scale: base ? ", log scale" : "" };
  }
  const log = (value, base) => (base === 10 ? Math.log10(value) : base === 2 ? Math.log2(value) : Math.log(value) / Math.log(base));
  const power = (base, k) => (base === 10 ? Number(`1e${k}`) : base ** k);
  function ticks({ low, high, base, whole }, most) {
    if (!base) return linear(low, high, most, whole);
    const first = Math.ceil(log(low, base) - 1e-9), last = Math.floor(log(high, base) + 1e-9);
    const least = Math.max(1, Math.min(last - first, Math.ceil((last - first + 1) / most)));
    const step = [...Array(least).keys()].map((k) => least + k).find((wide) => (last - first) % wide === 0) || least; // both ends, if it can
    let values = [];
    for (let k = first + (last - first) % step; k <= last; k += step) values.push(power(base, k));
    if (base === 10 && last - first < 2) {
      values = [];
      for (let k = first - 1; k <= last; k += 1) [1, 2, 5].forEach((m) => values.push(Number(`${m}e${k}`)));
      values = values.filter((v) => low * (1 - 1e-9) <= v && v <= high * (1 + 1e-9));
    }
    return values.length > 1 || step > 1 ? values : linear(low, high, most, whole);
  }
  function between({ low, high, base, start, stop, at }) { // powers of ten
    if (base !== 10 || Math.abs(stop - start) < DECADE * Math.log10(high / low)) return [];
    const values = [];
    for (let k = Math.floor(Math.log10(low)); k < Math.ceil(Math.log10(high)); k += 1) [2, 3, 4, 5, 6, 7, 8, 9].forEach((m) => values.push(m * power(10, k)));
    return values.filter((value) => low <= value && value <= high).map(at);
  }
  function linear(low, high, most, whole) {
    const step = tickStep(low, high, most, whole), values = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k += 1) values.push(Number((k * step).toPrecision(12)));
    return values;
  }
  function tickStep(low, high, most, whole) {
    const raw = Math.max((high - low) / most, whole), unit = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 2.5, 5, 10].map((m) => m * unit).find((m) => m >= raw * (1 - 1e-9) && !(whole && m % 1));
  }
  function span(values, base, zero) {
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (base) return high > low ? [low, high] : [low / base, high * base];
    if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    return high > low ? [low, high] : high > 0 ? [0, 2 * high] : [low - 1 + zero, high + 1];
  }

  // -- line charts -------------------------------------------------------------------------------
  function grid(x, y, frame, strip) {
    const out = [];
    ticks(y, 5).forEach((value) => {
      const at = y.at(value);
      out.push(`<path d="M${px(x.start)} ${px(at)}H${px(x.stop)}" stroke="var(--cl-line,#c3c9d0)"/>`);
      out.push(text(x.start - 6, Math.min(at + 4, y.start + 4 - strip / 2), "end", frame.yFormat(value)));
    });
    ticks(x, Math.min(7, Math.floor((x.stop - x.start) / 62))).forEach((value) => {
      const at = x.at(value), label = frame.xFormat(value);
      out.push(`<path d="M${px(at)} ${px(y.start)}v${px(4 + strip)}" stroke="currentColor"/>`);
      out.push(text(Math.min(at, frame.width - LETTER / 2 * label.length), y.start + 17 + strip, "middle", label));
    });
    const fine = (strip ? [] : between(x)).map((at) => `M${px(at)} ${px(y.start)}v3`).concat(between(y).map((at) => `M${px(x.start)} ${px(at)}h-3`));
    out.push(`<path d="${fine.join("")}M${px(x.start)} ${px(y.start)}H${px(x.stop)}" stroke="currentColor"/>`);
    out.push(text(2, 13, "start", frame.yLabel + y.scale));
    out.push(text((x.start + x.stop) / 2, frame.height - 6, "middle", frame.xLabel + x.scale));
    return out.join("");
  }
  // How much of a line is within a box of left, top, right and bottom.
  function crossed(line, box) {
    return line.slice(1).reduce((length, other, place) => {
      const one = line[place], run = [0, 1].map((k) => other[k] - one[k] || 1e-9);
      const cuts = [0, 1].map((k) => [(box[k] - one[k]) / run[k], (box[k + 2] - one[k]) / run[k]].sort((a, b) => a - b));
      const enters = Math.max(0, cuts[0][0], cuts[1][0]), leaves = Math.min(1, cuts[0][1], cuts[1][1]);
      return length + Math.max(0, leaves - enters) * Math.hypot(other[0] - one[0], other[1] - one[1]);
    }, 0);
  }
  // A dot with its label in the corner where it crosses least of the lines.
  function mark({ x: value, y: height, label }, x, y, lines, right) {
    const at = x.at(value), center = y.at(height), wide = LETTER * label.length;
    const sides = at <= x.start + 0.35 * (x.stop - x.start) ? ["start", "end"] : ["end", "start"];
    let least = Infinity, best = "";
    [center - 7, center + 18].forEach((up) => sides.forEach((anchor) => {
      const left = anchor === "start" ? at + 8 : at - 8 - wide, box = [left, up - 10, left + wide, up + 3];
      const outside = left < x.start || box[2] > right || up < y.stop + 5 || up > y.start;
      const trouble = Math.floor(1000 * outside + lines.reduce((sum, line) => sum + crossed(line, box), 0) + 0.5);
      if (trouble >= least) return;
      least = trouble;
      best = text(anchor === "start" ? at + 8 : at - 8, up, anchor, label, HALO);
    }));
    return `<circle cx="${px(at)}" cy="${px(center)}" r="4.5" fill="var(--cl-bg,#fff)" style="stroke:currentColor" stroke-width="2"/>${best}`;
  }
  function spread(places, gap, low, high) {
    const order = places.map((_, k) => k).sort((a, b) => places[a] - places[b] || a - b);
    const spaced = places.slice();
    let edge = low;
    order.forEach((k) => { spaced[k] = Math.max(spaced[k], edge); edge = spaced[k] + gap; });
    edge = high;
    order.reverse().forEach((k) => { spaced[k] = Math.min(spaced[k], edge); edge = spaced[k] - gap; });
    return spaced;
  }
  function curve(one, x, y, end, rule) {
    const places = one.xs.map((a, k) => `${px(x.at(a))} ${px(y.at(one.ys[k]))}`);
    const hue = color(one.look[0]);
    let out = `<path d="M${places.join("L")}" style="stroke:${hue}" stroke-width="2"${dashes(one.look[1])}/>`;
    if (places.length <= 16 && places.length !== 2) {
      const rings = places.map((place) => `M${place}m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0`).join("");
      out += `<path d="${rings}" style="fill:${hue}"/>`;
    }
    const at = rule && one.atRule !== undefined && `${px(x.at(rule.x))} ${px(y.at(one.atRule))}`;
    if (end !== null) {
      out += `<path d="M${at || places[places.length - 1]}H${px(x.stop)}L${px(x.stop + 9)} ${px(end)}" style="stroke:${hue}" opacity=".4"/>`;
      out += text(x.stop + 12, end + 4, "start", one.label, ` style="fill:${hue}" stroke="none"`);
    }
    if (at) {
      out += `<path d="M${places.filter((_, k) => k % 4 === 0).join("L")}" stroke="transparent" stroke-width="11"/>`;
      const [cx, cy] = at.split(" ");
      out += `<circle cx="${cx}" cy="${cy}" r="3.5" style="fill:${hue}"/>`;
    }
    return `<g data-row="${escape(one.name)}">${out}</g>`;
  }
  function ruled(rule, x, y) {
    const at = x.at(rule.x);
    const label = text(Math.min(Math.max(at, x.start + 24), x.stop - 24), y.stop - 6, "middle", rule.label, ' font-weight="600"');
    const out = [`<path d="M${px(at)} ${px(y.start)}V${px(y.stop)}" stroke="currentColor" stroke-width="1.5"/>${label}`];
    rule.strip.forEach(([from, [one]], k) => {
      const left = x.at(from), right = k + 1 < rule.strip.length ? x.at(rule.strip[k + 1][0]) - 2 : x.stop;
      const box = `<path d="M${px(left)} ${px(y.start + 2)}H${px(right)}v14H${px(left)}z" style="fill:${color(one.look[0])}"/>`;
      const name = [one.row.n, letters(one)].find((words) => LETTER * words.length + 4 < right - left);
      const label = name ? text((left + right) / 2, y.start + 13, "middle", name, ' style="fill:var(--cl-bg,#fff)"') : "";
      out.push(`<g data-row="${escape(one.row.n)}">${box}${label}</g>`);
    });
    return out.join("") + (rule.strip.length ? text(x.start - 6, y.start + 13, "end", "fastest") : "");
  }
  // The markup, and the axis of x for whoever drags the rule.
  function plot(curves, frame, { ends = false, marks = [], rule = null }) {
    const allX = [...curves.flatMap((c) => c.xs), ...marks.map((m) => m.x), ...(rule ? [rule.x] : [])];
    const allY = [...curves.flatMap((c) => c.ys), ...marks.map((m) => m.y)];
    const strip = rule && rule.strip.length ? 16 : 0;
    let [low, high] = span(allY, frame.logY, true);
    const [wholeX, wholeY] = [allX, allY].map((values) => values.every(Number.isInteger));
    if (frame.logY) low /= (high / low) ** ROOM;
    else { // up to the next round value, which has a label
      const step = tickStep(low, high, 5, wholeY);
      high = Math.ceil(high / step - 1e-9) * step;
    }
    const y = axis(low, high, frame.logY, frame.height - BOTTOM - strip, TOP + (rule ? 9 : 0), wholeY);
    const left = Math.max(12 + LETTER * Math.max(...ticks(y, 5).map((v) => frame.yFormat(v).length)), strip ? 50 : 0);
    const head = ends && rule ? `at ${rule.label}` : "";
    const right = ends ? 18 + LETTER * Math.max(head.length, ...curves.map((c) => c.label.length)) : RIGHT;
    const x = axis(...span(allX, frame.logX, false), frame.logX, left, frame.width - right, wholeX);
    const tips = ends ? spread(curves.map((c) => y.at(c.atRule)), 15, y.stop + (head ? 8 : 0), y.start) : curves.map(() => null);
    const drawn = curves.map((one, k) => curve(one, x, y, tips[k], rule)).join("");
    const lines = curves.map((c) => c.xs.map((v, k) => [x.at(v), y.at(c.ys[k])]));
    if (rule) lines.unshift([[x.at(rule.x), y.start], [x.at(rule.x), y.stop]]);
    const heading = head ? text(x.stop + 12, y.stop - 6, "start", head, ' font-weight="600"') : "";
    const svg = `<svg class="cl-plot" viewBox="0 0 ${px(frame.width)} ${px(frame.height)}" font-size="12" aria-hidden="true">`
      + `${grid(x, y, frame, strip)}${rule ? ruled(rule, x, y) : ""}${heading}<g fill="none" stroke-linejoin="round">${drawn}</g>`
      + `${marks.map((m) => mark(m, x, y, lines, frame.width)).join("")}</svg>`;
    return { svg, x, y };
  }

  // -- views: (options, field, state, texts, width) to { html, and where a handle stands if there is one } ------
  const LOW = 1e2, HIGH = 1e11; // as in views.py
  const range = (low, high) => Array.from({ length: race.POINTS + 1 }, (_, k) => low * (high / low) ** (k / race.POINTS));
  const letters = (one) => one.look[2] || one.row.n.split(" (")[0].split(" ").slice(0, 3).map((word) => word[0]).join("").toUpperCase();

  const names = (tied) => race.listed(tied.map((one) => one.row.n));

  function curves(view, field, state, texts, width) {
    const message = state[field.m], typed = texts[field.m];
    const sizes = range(Math.min(LOW, message), Math.max(HIGH, message));
    const lines = sizes.map((size) => race.standings(field, { ...state, [field.m]: size }));
    const now = race.standings(field, state);
    const show = format[view.what];
    const values = now.map((one) => (view.what === "slowdown" ? seconds(one.seconds) : show(race.measured(view.what, one, message, now))));
    const named = values.every((value, k) => LETTER * `${value} ${now[k].row.n}`.length <= BESIDE * width);
    const drawn = now.map((one, k) => {
      const at = race.measured(view.what, one, message, now);
      const ys = lines.map((row, place) => race.measured(view.what, row[k], sizes[place], row));
      return { name: one.row.n, label: `${values[k]} ${named ? one.row.n : letters(one)}`, xs: sizes, ys, look: one.look, atRule: at };
    });
    const strip = view.strip ? race.turns(field, state, sizes) : [];
    const frame = { xLabel: "message M", yLabel: view.y_label, logX: 10, logY: 10 * view.log, xFormat: race.size,
                    yFormat: show, width, height: 300 };
    const { svg, x } = plot(drawn, frame, { ends: true, rule: { x: message, label: typed, strip } });
    const described = drawn.map((one) => `${one.name} ${show(one.atRule)}`).join("; ");
    const turning = strip.length ? ` Fastest ${strip.map(([size, tied]) => `from ${race.size(size)} ${names(tied)}`).join("; ")}.` : "";
    return { html: figure(`${view.y_label} against M. At ${typed}: ${described}.${turning}`, svg + (named ? "" : keys(now, inked))), x };
  }
  const inked = (hue) => `color:${hue}`, tinted = (hue) => `background:color-mix(in srgb,${hue} 25%,transparent);padding:0 0.3em`;
  const keys = (all, style) => `<div class="cl-legend">${all.map((one) => `<span data-row="${escape(one.row.n)}">`
    + `<b style="${style(color(one.look[0]))}">${escape(letters(one))}</b> ${escape(one.row.n)}</span>`).join("")}</div>`;

  function variants(view, field, state, texts, width) {
    const one = race.standings(field, state).find((each) => each.variant || each.row.w[""].length > 2);
    const number = (variant) => Number(variant.split(" ").pop()), best = one.variant || `P = ${one.segments}`;
    const prices = one.variant ? race.prices(field, one.row, state).map(([variant, time]) => [number(variant), time]) : race.overSegments(field, one, state);
    const label = `${best}: ${seconds(one.seconds)}`;
    const frame = { xLabel: view.x_label, yLabel: "time", logX: 2, logY: 0, xFormat: race.number, yFormat: (time) => seconds(time), width, height: 210 };
    const line = { name: one.row.n, label: "", xs: prices.map(([x]) => x), ys: prices.map(([, time]) => time), look: one.look };
    const rule = view.at ? { x: state[view.at], label: texts[view.at], strip: [] } : null;
    const { svg, x } = plot([line], frame, { marks: [{ x: number(best), y: one.seconds, label }], rule });
    return { html: figure(`Time against ${view.x_label}. Best: ${best} with ${seconds(one.seconds)}.`, svg), x };
  }

  const ordered = (all, order) => (order === "by time"
    ? all.slice().sort((a, b) => (a.row.b || 0) - (b.row.b || 0) || a.seconds - b.seconds) : all);

  function dots(view, field, state, texts) {
    const all = ordered(race.standings(field, state), texts[view.order]);
    const first = race.fastest(all)[0];
    const plain = new Map(view.ideal.length ? race.ideal(field, state, view.ideal).map((one) => [one.row.n, one.seconds]) : []);
    const times = all.flatMap((one) => [one.seconds, one.floor, plain.get(one.row.n) || 0]).filter(Boolean);
    const low = Math.floor(Math.log10(Math.min(...times))), high = Math.ceil(Math.log10(Math.max(...times)) + 1e-9);
    const at = (time) => `style="left:${fixed(100 * (Math.log10(time) - low) / (high - low), 2)}%`;
    const decades = Array.from({ length: high - low + 1 }, (_, k) => Number(`1e${low + k}`));
    const lines = decades.map((time) => `<u ${at(time)}"></u>`).join("");
    const rows = all.map((one) => {
      let more = one.floor ? `<u class="cl-floor" ${at(one.floor)}"></u>` : "";
      if (plain.size) more += `<s ${at(plain.get(one.row.n))};color:${color(one.tint)}"></s>`;
      const bold = one === first ? "b" : "span", variant = one.variant ? `<small style="color:${color(one.tint)}">${escape(one.label)}</small>` : "";
      return `<div data-row="${escape(one.row.n)}"><${bold}>${escape(one.row.n)} ${variant}</${bold}>`
        + `<i class="cl-track">${lines}${more}<em ${at(one.seconds)};color:${color(one.tint)}"></em></i><${bold}>${seconds(one.seconds)}</${bold}></div>`;
    });
    const step = 1 + Math.floor((high - low) / 6);
    const scale = decades.filter((_, k) => k % step === 0).map((time) => `<u ${at(time)}">${seconds(time)}</u>`).join("");
    const described = all.map((one) => `${one.title} ${seconds(one.seconds)}`).join("; ");
    const ends = `<div><span></span><i class="cl-track cl-scale">${scale}</i><span></span></div>`;
    const marks = [["<em></em>", "time, log scale"]];
    if (plain.size) marks.push(["<s></s>", "ideal"]);
    if (all.some((one) => one.floor)) marks.push(['<u class="cl-floor"></u>', plain.size ? "lower bounds, with coefficients" : "sum of the lower bounds"]);
    const key = marks.map(([drawn, words]) => `<span><i class="cl-track cl-key">${drawn}</i>${words}</span>`).join("");
    const body = `<div class="cl-legend">${key}</div><div class="cl-dots">${ends}${rows.join("")}${ends}</div>`;
    return { html: figure(`Time of each, logarithmic: ${described}.`, body) };
  }

  function bars(view, field, state) {
    const sums = [...race.totals(race.standings(field, state))];
    const longest = Math.max(0, ...sums.map(([, time]) => time));
    const rows = sums.map(([group, time], k) => `<span>${escape(group)}</span><i><span class="cl-bar" style="width:${fixed(100 * time / longest, 2)}%;`
      + `background:${color(k)}"></span></i><span>${seconds(time)}</span>`);
    const described = sums.map(([group, time]) => `${group} ${seconds(time)}`).join("; ");
    return { html: figure(`Time of each: ${described}.`, `<div class="cl-bars">${rows.join("")}</div>`) };
  }

  const MESSAGES = Array.from({ length: 25 }, (_, k) => 10 ** (2 + k / 3)), UNPRICED = "?";
  const LEFT = 42, ROW = 17;
  const SHADES = [["within 10% of the fastest", color(2), 12], ["up to twice as long", color(1), 25], ["longer", color(1), 55], ["", color(7), 25]];
  function runs(values) {
    const stretches = [];
    values.forEach((value, k) => {
      const last = stretches[stretches.length - 1];
      if (last && last[2] === value) last[1] += 1; else stretches.push([k, 1, value]);
    });
    return stretches;
  }
  const box = (left, row, width) => `M${px(left)} ${px(ROW * row)}H${px(left + width)}V${px(ROW * row + ROW)}H${px(left)}z`;
  function shade(one, first) {
    if (one.seconds <= 1.1 * first.seconds) return 0;
    return one.seconds === Infinity ? 3 : one.seconds <= 2 * first.seconds ? 1 : 2;
  }
  function verdict(choices) {
    if (!choices.length) return "";
    const priced = choices.filter((times) => times < Infinity);
    return `Within 10% in ${priced.filter((times) => times <= 1.1).length} of the ${priced.length} cells that can be priced, `
      + `more than twice in ${priced.filter((times) => times > 2).length}.`;
  }
  const code = (variant, looks) => (looks[variant] || [0, 0, UNPRICED])[2];
  function fills(k, first, taken, cell) {
    const at = (column) => LEFT + cell * column;
    if (taken[0]) {
      return runs(taken.map((one, j) => shade(one, first[j]))).map(([column, length, dark]) => (
        `<path d="${box(at(column), k, cell * length)}" style="fill:${SHADES[dark][1]}" fill-opacity="${SHADES[dark][2] / 100}"/>`)).join("");
    }
    return runs(first.map((one) => one.row.n)).map(([column, length, name]) => `<path d="${box(at(column), k, cell * length)}" `
      + `data-row="${escape(name)}" style="fill:${color(first[column].look[0])}" fill-opacity=".25"/>`).join("");
  }
  function codes(k, first, taken, cell, looks) {
    return runs(taken.map((one, j) => (one ? code(one.variant, looks) : first[j].look[2]))).map(([column, length, letters]) => (
      (column ? `<path d="M${px(LEFT + cell * column)} ${px(ROW * k)}v${ROW}" stroke="var(--cl-edge,#77808a)"/>` : "")
      + (cell * length > 9 * letters.length ? text(LEFT + cell * (column + length / 2), ROW * k + 12.5, "middle", letters, HALO) : ""))).join("");
  }
  function regrets(pairs, looks) {
    const dark = [...new Set(pairs.map(([one, best]) => shade(one, best)))].sort().map((k) => SHADES[k]).filter(([words]) => words)
      .map(([words, hue, share]) => `<span><i class="cl-swatch" style="background:color-mix(in srgb,${hue} ${share}%,transparent)"></i>${words}</span>`);
    const named = new Map(pairs.map(([one]) => [code(one.variant, looks), looks[one.variant] ? one.variant : "not priced"]));
    return `<div class="cl-legend">${dark.join("")}${[...named].map(([letters, label]) => `<span><b>${letters}</b> ${escape(label)}</span>`).join("")}</div>`;
  }
  function map(view, field, state, texts, width) {
    const sizes = MESSAGES, cell = (width - LEFT - 6) / sizes.length, bottom = ROW * view.over.length;
    const first = [], taken = [], lettered = [];
    const body = view.over.map((n, k) => {
      const atRanks = { ...field, rows: field.at(view.ranks, String(n)) };
      const row = sizes.map((size) => race.standings(atRanks, { ...state, [field.m]: size }));
      first.push(row.map((each) => race.fastest(each)[0]));
      taken.push(row.map((each) => each.find((one) => one.row.k)));
      lettered.push(codes(k, first[k], taken[k], cell, field.looks));
      return fills(k, first[k], taken[k], cell) + text(LEFT - 5, ROW * k + 12.5, "end", n);
    });
    const x = axis(sizes[0] * 10 ** (-1 / 6), sizes[sizes.length - 1] * 10 ** (1 / 6), 10, LEFT, width - 6);
    sizes.filter((_, k) => k % (width >= NARROW ? 6 : 12) === 0).forEach((size) => {
      const label = race.size(size);
      body.push(`<path d="M${px(x.at(size))} ${px(bottom)}v4" stroke="currentColor"/>`);
      body.push(text(Math.min(x.at(size), width - LETTER / 2 * label.length), bottom + 17, "middle", label));
    });
    body.push(text((LEFT + width - 6) / 2, bottom + 32, "middle", "message M"), text(2, bottom + 32, "start", "ranks N"));
    const message = Math.min(Math.max(x.at(state[field.m]), LEFT), width - 6);
    const above = view.over.filter((n) => n < state[view.ranks]).length, known = view.over.includes(state[view.ranks]);
    const between = `M${px(LEFT)} ${px(ROW * above)}H${px(width - 6)}`;
    const rank = known ? box(LEFT, above, width - 6 - LEFT) : between;
    body.push(`<path d="${rank}M${px(message)} 0V${px(bottom)}" fill="none" stroke="currentColor" stroke-width="1.5"/>`);
    const svg = `<svg viewBox="0 0 ${px(width)} ${px(bottom + 36)}" font-size="11.5" aria-hidden="true">${body.concat(lettered).join("")}</svg>`;
    const leads = new Map();
    first.flat().forEach((one) => leads.set(one.row.n, { one, times: (leads.get(one.row.n) || { times: 0 }).times + 1 }));
    const often = [...leads.values()].sort((a, b) => b.times - a.times);
    const described = often.map(({ one, times }) => `${one.row.n} ${fixed(100 * times / sizes.length / view.over.length, 0)}%`).join("; ");
    const pairs = taken.flatMap((row, k) => row.map((one, j) => [one, first[k][j]])).filter(([one]) => one);
    const legend = pairs.length ? regrets(pairs, field.looks) : keys(often.map(({ one }) => one), tinted);
    const assessment = verdict(pairs.map(([one, best]) => one.seconds / best.seconds));
    const alt = `Map of the fastest over N and M; share of the cells: ${described}.`;
    const hint = assessment && `<p class="cl-hint">${assessment}</p>`;
    return { html: figure(`${alt} ${assessment}`.trimEnd(), svg + legend + hint), x, row: ROW, y: ROW * (above + known / 2) };
  }

  const CELLS = {
    name: (one) => one.row.n,
    title: (one) => one.title,
    variant: (one) => (one.label === one.row.n ? "" : one.label.replaceAll("P = ", "P\u00a0=\u00a0")),
    time: (one) => seconds(one.seconds, 4),
    "of fastest": (one, m, least) => (one.row.b ? "" : ratio(one.seconds / least)),
    "over floor": (one) => (one.floor ? ratio(one.seconds / one.floor) : ""),
    n_alpha: (one) => race.counts(one.row.w[one.variant], one.segments)[0],
    n_beta: (one) => race.counts(one.row.w[one.variant], one.segments)[1],
    P: (one) => (one.segments > 1 ? one.segments : ""),
    algbw: (one, m) => race.rate(m / one.seconds),
    busbw: (one, m) => race.rate(race.measured("rate", one, m, [one])),
    calls: (one, m) => `${one.row.t || 1} × ${race.size(one.row.m || m)}`,
  };
  const WORDY = ["name", "title", "variant"];

  function rows(view, field, state, texts) {
    const all = ordered(race.standings(field, state), texts[view.order]);
    const least = all.length ? race.fastest(all)[0].seconds : 0;
    const right = (cell) => (WORDY.includes(cell) || !CELLS[cell] ? "" : ' class="cl-right"');
    const say = (one, cell) => escape(CELLS[cell] ? CELLS[cell](one, state[field.m], least) : (one.row.d || {})[cell] || "");
    const head = view.columns.map(([name, cell]) => (name ? `<th scope="col"${right(cell)}>${typeset(name)}</th>` : "<td></td>")).join("");
    const body = all.map((one) => {
      const cells = view.columns.slice(1).map(([, cell]) => `<td${right(cell)}>${say(one, cell)}</td>`).join("");
      const swatch = view.swatches ? `<i class="cl-swatch" style="background:${color(view.tinted ? one.tint : one.look[0])}"></i>` : "";
      return `<tr data-row="${escape(one.row.n)}" tabindex="0"><th scope="row">${swatch}${say(one, view.columns[0][1])}</th>${cells}</tr>`;
    });
    return { html: `<table class="colllib-table"><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table>` };
  }

  function heat(view, field, state) {
    const all = race.standings(field, state), shares = all.map((one) => race.busy(field, one, state));
    const names = [...field.v, "latency"], used = names.map((_, k) => k).filter((k) => shares.some((row) => row[k]));
    const head = used.map((k) => `<th scope="col" class="cl-right">${escape(names[k])}</th>`).join("");
    const body = all.map((one, place) => {
      const cells = used.map((k) => '<td class="cl-right" style="background:color-mix(in srgb,'
        + `${color(1)} ${fixed(40 * shares[place][k], 1)}%,transparent)">${fixed(100 * shares[place][k], 0)}%</td>`).join("");
      const name = escape(one.row.n);
      return `<tr data-row="${name}" tabindex="0"><th scope="row">${name}</th>${cells}</tr>`;
    });
    return { html: `<table class="colllib-table"><thead><tr><th scope="col">busy</th>${head}</tr></thead><tbody>${body.join("")}</tbody></table>` };
  }

  function turns(view, field, state) {
    const described = race.turns(field, state, range(LOW, HIGH)).map(([size, tied]) => `from <b>${race.size(size)}</b> ${escape(names(tied))}`);
    return { html: `<p>Fastest ${described.join("; ")}.</p>` };
  }

  const summary = (view, field, state, texts) => ({ html: escape(race.summary(view.text, field, state, texts)) });

  return { map, curves, variants, dots, bars, rows, heat, turns, summary };
}());
