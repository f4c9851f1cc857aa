// The page's half of colllib.units, colllib.show.race and the words of colllib.show.views: reads and writes quantities,
// prices exact counts, and says who is fastest. A browser test holds every line of it against Python.
const race = (function () {
  "use strict";
  const TIE = 1e-9, SAME = 1 + 2e-15, MOST = 2 ** 20, STEPS = 8, POINTS = 64;

  // -- numbers as text, rounded as Python rounds: exact, and ties to the even digit ------------
  function even(value, up, down, rest) { // two texts as near as each other: the one that ends in an even digit
    return /^50*$/.test(rest) && /[02468]$/.test(down.split("e")[0]) ? down : up;
  }
  const below = (value) => value * (1 - 1e-12);
  function fixed(value, digits) {
    const rest = value.toFixed(60).split(".")[1].slice(digits);
    return even(value, value.toFixed(digits), below(value).toFixed(digits), rest);
  }
  function significant(value, digits) {
    const rest = value.toExponential(60).split("e")[0].slice(digits + 1);
    return Number(even(value, value.toExponential(digits - 1), below(value).toExponential(digits - 1), rest));
  }
  function general(value, digits) { // Python's ".4g", but never with a power of ten
    const rounded = Math.abs(value) < 1e-4 ? 0 : significant(value, digits);
    return rounded < 1e21 ? String(rounded) : BigInt(rounded).toString();
  }
  function scaled(value, unit, prefixes, digits) {
    const up = Math.max(Math.abs(value), Math.abs(significant(value, digits)));
    const [scale, prefix] = prefixes.find(([least]) => up >= least) || prefixes[prefixes.length - 1];
    return `${general(value / scale, digits)} ${prefix}${unit}`;
  }
  const TIMES = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const SIZES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const commas = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const seconds = (value, digits = 3) => (value === 0 ? "0 s" : scaled(value, "s", TIMES, digits).replace(/^-?\d+/, commas));
  const size = (value, digits = 3) => scaled(value, "B", SIZES, digits);
  const rate = (value, digits = 3) => `${size(value, digits)}/s`;
  function number(value) {
    const rounded = significant(value, 6);
    if (value === 0 || (Math.abs(rounded) >= 1e-2 && Math.abs(rounded) < 1e6)) {
      const [whole, part] = general(value, 6).split(".");
      return commas(whole) + (part ? `.${part}` : "");
    }
    const [mantissa, exponent] = value.toExponential(2).split("e");
    const power = `10${String(Number(exponent)).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)])}`;
    return Number(mantissa) === 1 ? power : `${Number(mantissa)}×${power}`;
  }
  const ratio = (value) => fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
  const times = (value) => `${number(significant(value, 3))} ×`;
  const format = { time: (value) => seconds(value), rate: (value) => rate(value), gain: times, slowdown: times };
  const show = { "message size": size, time: seconds, bandwidth: rate, number: general };

  // -- reading: a number, perhaps a space, a unit ----------------------------------------------
  const POWERS = { "": 0, k: 3, K: 3, M: 6, G: 9, T: 12, P: 15, Ki: 0, Mi: 0, Gi: 0, Ti: 0, Pi: 0, m: -3, u: -6, "µ": -6, "μ": -6, n: -9 };
  const EXAMPLES = { "message size": "16MB", time: "0.5us", bandwidth: "900GB/s or 400Gb/s" };
  function read(kind, text, low, high) {
    if (kind === "number") {
      const value = /^ *(\d+\.?\d*|\.\d+)(e-?\d{1,3})? *$/.test(text) ? Number(text) : 0;
      if (!(value >= low && value <= high)) throw new Error(`must be a number from ${general(low, 6)} to ${general(high, 6)}`);
      return value;
    }
    const unit = kind === "time" ? "([mnuµμ]?)s" : "((?:[KMGTP]i)|[kKMGTP]?)" + (kind === "bandwidth" ? "(B|bit|b)(?:/s|ps)" : "(B|bit)");
    const plain = text.replace(/,(?=\d{3}(?!\d))/g, ""), number = "^ *(\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE]([+-]?\\d+))? ?";
    const match = new RegExp(`${number}${unit} *$`).exec(plain);
    if (!match) {
      const other = new RegExp(`${number}([^\\s\\d.]\\S*) *$`).exec(plain);
      throw new Error(`${other ? `“${other[3]}” is no unit of it; ` : ""}write a number with ${/\d,\d/.test(plain) ? "a decimal point and " : ""}its unit, such as ${EXAMPLES[kind]}`);
    }
    const [, digits, exponent, prefix, what] = match;
    const power = POWERS[prefix] + Number(exponent || 0); // in the decimal text, so that it is rounded once
    const factor = (prefix.endsWith("i") ? 1024 ** ("KMGTP".indexOf(prefix[0]) + 1) : 1) / (/^b/.test(what) ? 8 : 1);
    const value = Number(`${digits}e${power}`) * factor;
    if (value === 0) throw new Error("must be above 0");
    if (!(value >= 1e-30 && value <= 1e30)) throw new Error(`too ${value > 1 ? "large" : "small"}; write it as ${EXAMPLES[kind]}`);
    return value;
  }

  // -- exact counts ----------------------------------------------------------------------------
  const count = (given) => {
    if (typeof given === "number") return given;
    const [top, below] = given.split("/").map(Number);
    return top / below;
  };
  const parts = (given) => String(given).split("/").concat("1").slice(0, 2).map(BigInt);
  function sum(first, second, times, over) { // first + second * times / over, as text
    const [a, b] = parts(first), [c, d] = parts(second);
    const top = a * d * BigInt(over) + c * b * BigInt(times), bottom = b * d * BigInt(over);
    let [x, y] = [top, bottom];
    while (y) [x, y] = [y, x % y];
    return bottom === x ? String(top / x) : `${top / x}/${bottom / x}`;
  }
  // A form is its points in 1, 2, ... segments, two numbers each, and the four numbers of its slope if there are more of them.
  const points = (form) => (form.length === 2 ? 1 : (form.length - 4) / 2);
  function counts(form, segments) {
    if (segments <= points(form)) return form.slice(2 * segments - 2, 2 * segments).map(String);
    const [a0, a1, b0, b1] = form.slice(-4);
    return [sum(a0, a1, segments, 1), sum(b0, b1, 1, segments)];
  }

  function inSegments(form, p, alpha, per) {
    if (p <= points(form)) return count(form[2 * p - 2]) * alpha + count(form[2 * p - 1]) * per;
    const [a0, a1, b0, b1] = form.slice(-4).map(count);
    return (a0 + a1 * p) * alpha + (b0 + b1 / p) * per;
  }
  const mostSegments = (message) => Math.max(1, Math.min(MOST, Math.floor(message))); // each has a byte
  function price(form, message, alpha, bandwidth) {
    if (Array.isArray(form[0])) {
      const most = (given, each) => Math.max(...given.map((one, level) => each(count(one), level)));
      return [form.reduce((total, [steps, hops, loads]) => total + steps
        * (most(hops, (n, level) => n * alpha[level]) + most(loads, (n, level) => n * message / bandwidth[level])), 0), 1];
    }
    const per = message / bandwidth[0], several = Array.from({ length: points(form) }, (_, k) => k + 1);
    if (form.length > 2) {
      const [, a1, , b1] = form.slice(-4).map(count);
      const near = Math.floor(Math.min(Math.sqrt(b1 * per / (a1 * alpha[0])), mostSegments(message) - 2)) - 1;
      const from = Math.max(several.length + 1, near);
      several.push(from, from + 1, from + 2, from + 3);
    }
    const times = several.filter((p) => p <= mostSegments(message)).map((p) => [inSegments(form, p, alpha[0], per), p]);
    const lowest = Math.min(...times.map(([time]) => time)) * SAME;
    return times.find(([time]) => time <= lowest);
  }

  // -- races: `field` is { rows, m, a, s, looks }, `state` has a number for every name that they use --
  const multiplied = (names, state) => names.split("*").reduce((value, name) => value * state[name], 1);
  const product = (terms, state) => terms.map((term) => term.split("/").map((names) => multiplied(names, state)))
    .map(([top, ...over]) => top / over.reduce((value, one) => value * one, 1));
  const quantities = (field, row, state) => [row.m || state[field.m], product(row.a || field.a, state), product(row.s || field.s, state)];
  const prices = (field, row, state) => {
    const given = quantities(field, row, state);
    return Object.entries(row.w).map(([variant, form]) => [variant, ...price(form, ...given)]);
  };
  function overSegments(field, one, state) { // ever farther apart, to four times the best and to 64 at least
    const [message, [alpha], [bandwidth]] = quantities(field, one.row, state);
    const last = Math.ceil(STEPS * Math.log2(Math.max(64, 4 * one.segments)));
    const several = new Set(Array.from({ length: last + 1 }, (_, k) => Math.round(2 ** (k / STEPS)))).add(one.segments);
    return [...several].filter((p) => p <= mostSegments(message)).sort((a, b) => a - b).map((p) => [p, inSegments(one.row.w[one.variant], p, alpha, message / bandwidth)]);
  }
  function priced(field, row, state) {
    const variants = prices(field, row, state);
    const taken = row.k && row.k.find(([limit]) => state[field.m] < limit)[1];
    const [variant, time, segments] = row.k ? variants.find((one) => one[0] === taken) || [taken, Infinity, 1]
      : variants.reduce((best, one) => (one[1] < best[1] ? one : best));
    const floor = row.f ? price(row.f, ...quantities(field, row, state))[0] : 0;
    const label = (variant || row.n) + (segments > 1 ? `, P = ${segments}` : "");
    return { row, variant, segments, label, title: variant ? `${row.n} (${label})` : row.n, look: row.l, tint: (field.looks[variant] || row.l)[0],
             seconds: (row.t || 1) * time, floor: (row.t || 1) * floor };
  }
  const standings = (field, state) => field.rows.map((row) => priced(field, row, state));
  const ideal = (field, state, [a, s]) => field.rows.map((row) => priced(field, { ...row, a: [a], s: [s] }, state));
  function busy(field, one, state) { // shares of its time: each level's busiest links carry bytes, and latency
    const [message, alpha, bandwidth] = quantities(field, one.row, state), form = one.row.w[one.variant];
    const waits = form.reduce((total, [steps, hops]) => total + steps * Math.max(...hops.map((n, level) => count(n) * alpha[level])), 0);
    const carries = bandwidth.map((speed, level) => form.reduce((total, [steps, , loads]) => total + steps * count(loads[level]) * message / speed, 0));
    return [...carries, waits].map((part) => part / one.seconds);
  }
  function fastest(all) {
    const running = all.filter((one) => !one.row.b);
    const least = Math.min(...running.map((one) => one.seconds));
    return running.filter((one) => one.seconds <= least * (1 + TIE));
  }
  function turns(field, state, sizes) {
    const first = (message) => fastest(standings(field, { ...state, [field.m]: message }));
    const leaders = [[sizes[0], first(sizes[0])]], last = () => leaders[leaders.length - 1];
    const still = (message) => { // those of the last leaders that still lead
      const rows = first(message).map((one) => one.row);
      return last()[1].filter((one) => rows.includes(one.row));
    };
    for (let k = 1; k < sizes.length; k += 1) {
      let low = sizes[k - 1];
      while (!still(sizes[k]).length) {
        let [below, above] = [low, sizes[k]];
        while (above > below * 1.0001) {
          const middle = Math.sqrt(below * above);
          if (still(middle).length) below = middle; else above = middle;
        }
        leaders.push([above, first(above)]);
        low = above;
      }
      last()[1] = still(sizes[k]);
    }
    return leaders;
  }
  function measured(what, one, message, all) {
    if (what === "rate") return count(one.row.x || 1) * message / one.seconds;
    if (what === "slowdown") return one.seconds / fastest(all)[0].seconds;
    return what === "gain" ? all[0].seconds / one.seconds : one.seconds;
  }
  function totals(all) {
    const sums = new Map();
    all.forEach((one) => { const group = one.row.g || one.row.n; sums.set(group, (sums.get(group) || 0) + one.seconds); });
    return sums;
  }

  // -- words -----------------------------------------------------------------------------------
  const listed = (names) => [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");
  const rateOf = (f) => measured("rate", f.one, f.state[f.field.m], [f.one]);
  const top = (f) => [...totals(f.all)].reduce((best, one) => (one[1] > best[1] ? one : best));
  const whole = (f) => [...totals(f.all).values()].reduce((a, b) => a + b, 0);
  const longer = (one, other, alike) => {
    const times = ratio(one.seconds / other.seconds);
    return times === "1.00" ? alike : `${times} times as long`;
  };
  const WORDS = {
    fastest: (f) => `the fastest ${f.tied.length === 1 ? "is" : "are"} ${listed(f.tied.map((one) => one.title))}`,
    next: (f) => {
      const rest = f.all.filter((one) => !one.row.b && !f.tied.includes(one));
      if (!rest.length) return "";
      const one = rest.reduce((best, other) => (other.seconds < best.seconds ? other : best));
      const time = seconds(one.seconds);
      return time === seconds(f.tied[0].seconds) ? `; ${one.title} is as good` : `; next is ${one.title} with ${time}`;
    },
    time: (f) => seconds(f.one.seconds),
    times: (f) => longer(f.one, f.other, "as long"),
    best: (f) => (f.one.seconds > f.other.seconds ? `the best is ${f.other.variant || `P = ${f.other.segments}`} with ${seconds(f.other.seconds)}` : "none is faster"),
    even: (f) => {
      const [[a, b], [c, d]] = [f.one, f.other].map((one) => one.row.w[one.variant].map(count));
      return size((c - a) / (b - d) * f.state[f.field.a[0]] * f.state[f.field.s[0]]);
    },
    over: (f) => ratio(f.one.seconds / (f.one.floor || (f.all.find((one) => one.row.b) || { seconds: Infinity }).seconds)),
    slowest: (f) => {
      const one = f.all.filter((each) => !each.row.b).reduce((a, b) => (b.seconds > a.seconds ? b : a));
      const alone = f.all.find((other) => other.row.b && other.row.g === one.row.n);
      return `the slowest takes ${seconds(one.seconds)}, ${ratio(one.seconds / one.floor)} times an aligned job alone: `
        + `${ratio(alone.seconds / one.floor)} by its layout, ${ratio(one.seconds / alone.seconds)} by sharing`;
    },
    variant: (f) => f.one.label,
    taken: (f) => {
      const one = f.all.find((each) => each.row.k);
      if (!one) return "";
      if (one.seconds === Infinity) return ` ${one.row.n} takes ${one.variant}, which this book does not price.`;
      return ` ${one.row.n} takes ${one.label}, ${longer(one, f.tied[0], "as fast")}.`;
    },
    binds: (f) => {
      const shares = busy(f.field, f.one, f.state), most = shares.indexOf(Math.max(...shares));
      const does = [...f.field.v.map((name) => `the ${name} are busy for`), "latency is"][most];
      return `${does} ${fixed(100 * shares[most], 0)}% of it`;
    },
    gain: (f) => ratio(f.all[0].seconds / f.one.seconds),
    rate: (f) => rate(rateOf(f)),
    share: (f) => {
      const share = rateOf(f) / f.state[f.field.s[0].split("*")[0]];
      return share >= 0.005 ? `${fixed(100 * share, 0)}%` : "under 1%";
    },
    sum: (f) => seconds(whole(f)),
    top: (f) => top(f)[0],
    "top share": (f) => `${fixed(100 * top(f)[1] / whole(f), 0)}%`,
  };
  function summary(text, field, state, texts) {
    const all = standings(field, state);
    const tied = fastest(all);
    const filled = text.replaceAll("}", "{").split("{").map((piece, place) => {
      if (place % 2 === 0) return piece;
      const [word, names = ""] = piece.split(/:(.*)/);
      if (word in texts) return texts[word];
      const [one, other] = [0, 1].map((k) => all.find((each) => each.row.n === names.split("|")[k]) || tied[0]);
      return WORDS[word]({ all, tied, one, other, state, field });
    }).join("");
    return filled.slice(0, 1).toUpperCase() + filled.slice(1);
  }

  return { POINTS, format, show, read, fixed, ratio, size, seconds, rate, number, counts, prices, overSegments, standings, ideal, fastest, turns, measured, busy, totals, listed, summary };
}());
