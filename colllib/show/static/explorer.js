// The page's half of colllib.show.Explorer. Python has rendered every state that is not a price; this script picks those
// fragments out of the payload, draws the races, and keeps controls, address and figure together.
const PAUSE = 900; // milliseconds between steps while playing at speed 1
const pick = (tree, on, at) => on.reduce((node, control) => node[at[control]], tree);
const put = (node, name, text) => { if (node.getAttribute(name) !== text) node.setAttribute(name, text); };
const slug = (text) => text.toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-+|-+$/g, "");
const nearest = (marks, value) => marks.reduce((best, mark, k) => (
  Math.abs(Math.log(mark / value)) < Math.abs(Math.log(marks[best] / value)) ? k : best), 0);

// -- payloads: in the page, or in a file of the book that is fetched as a script when it is needed --------
const files = new Map();
const arrived = new Map();
function fetched(digest, source) {
  if (!files.has(digest)) {
    files.set(digest, new Promise((resolve, reject) => {
      const file = document.createElement("script");
      arrived.set(digest, resolve);
      file.src = source;
      file.onerror = () => reject(new Error("its data are missing"));
      document.head.append(file);
    }));
  }
  return files.get(digest);
}
async function unpack(script) {
  const packed = script.dataset.src ? await fetched(script.dataset.digest, script.dataset.src) : script.textContent.trim();
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(plain).text());
}

// -- what is shown at given indices and quantities: the same for the page and for tests -------------------
function stateOf(data, at) {
  const state = {}, texts = {};
  data.controls.forEach((control, i) => {
    const text = control.marks ? race.show[control.kind](at[i], 4) : pick(control.tree, control.on, at)[at[i]];
    texts[control.name] = text;
    state[control.name] = control.marks ? at[i] : control.numbers ? control.numbers[at[i]] : Number(text);
  });
  return { state, texts };
}
function shown(data, part, at, width) {
  if (!part.view) return { html: data.fragments[pick(part.tree, part.on, at)] };
  const { state, texts } = stateOf(data, at);
  const field = data.races[part.race];
  const rows = (places) => field.rows[pick(field.tree, field.on, places)].map((row) => ({ ...row, w: field.variants[row.w] }));
  const other = (name, text) => { // the rows where one control has another text
    const i = data.controls.findIndex((control) => control.name === name);
    return rows(at.with(i, pick(data.controls[i].tree, data.controls[i].on, at).indexOf(text)));
  };
  return draw[part.view](part, { ...field, rows: rows(at), at: other }, state, texts, width);
}

function run(root, data) {
  const at = data.start.slice();
  const live = root.querySelector("[aria-live]");
  const error = (control, words) => {
    control.error.textContent = words;
    put(control.field, "aria-invalid", String(Boolean(words)));
  };
  const controls = data.controls.map((offer, i) => {
    const input = root.querySelector(`[data-control="${i}"]`);
    const row = input && input.closest(".cl-control");
    const of = (name) => row && row.querySelector(name), field = of(".cl-field"), error = of(".cl-error");
    if (error) { // read out once as it comes, and again to whoever comes back to the field
      error.id = `${root.id}-${offer.name}-error`;
      field.setAttribute("aria-describedby", error.id);
    }
    return { ...offer, input, row, field, error, value: of(".cl-value"), texts: offer.tree && pick(offer.tree, offer.on, at) };
  });
  const parts = data.parts.map((part, i) => {
    const node = root.querySelector(`[data-part="${i}"]`);
    return { ...part, node, canvas: node, shown: part.view ? null : pick(part.tree, part.on, at) };
  });
  const buttons = {};
  root.querySelectorAll("[data-act]").forEach((b) => { buttons[b.dataset.act] = b; });
  const last = (i) => controls[i].texts.length - 1;
  const text = (i) => (controls[i].marks ? race.show[controls[i].kind](at[i], 4) : controls[i].texts[at[i]]);
  const indexOf = (name) => controls.findIndex((control) => control.name === name);
  let timer = 0, frame = 0, writing = 0, lit = null;
  const note = root.querySelector(".cl-note"), noted = note.textContent;
  function remark(words) { // on a link that cannot be followed
    if (note.textContent === (words || noted)) return;
    note.setAttribute("role", "alert");
    note.textContent = words || noted;
    note.classList.toggle("cl-alert", Boolean(words));
  }

  // -- controls --------------------------------------------------------------------------------
  function radio(words, k, i) {
    const label = document.createElement("label"), given = { type: "radio", name: `${root.id}-${i}`, value: k, autocomplete: "off" };
    label.append(Object.assign(document.createElement("input"), given), ` ${words}`);
    return label;
  }
  // An earlier control has moved: keep the text where the new range has it, else clamp.
  function refit(i) {
    const control = controls[i];
    if (control.marks) return;
    const texts = pick(control.tree, control.on, at);
    if (texts === control.texts) return;
    const kept = texts.indexOf(control.texts[at[i]]);
    at[i] = kept >= 0 ? kept : Math.min(at[i], texts.length - 1);
    control.texts = texts;
    if (!control.input) return;
    if (control.input.tagName === "SELECT") control.input.replaceChildren(...texts.map((each, k) => new Option(each, k)));
    else if (control.input.tagName === "FIELDSET") control.input.querySelector(".cl-choices").replaceChildren(...texts.map((each, k) => radio(each, k, i)));
    else control.input.max = texts.length - 1;
  }
  function label(i, typing) {
    const { input, row, field, value, marks, texts, with: other } = controls[i];
    if (!input) return;
    row.classList.toggle("cl-only", marks ? at[indexOf(other)] === 0 : texts.length === 1); // what decides nothing
    if (input.tagName === "FIELDSET") {
      input.querySelectorAll("input").forEach((radio, k) => { radio.checked = k === at[i]; });
      return;
    }
    const place = marks ? nearest(marks, at[i]) : at[i];
    if (Number(input.value) !== place) input.value = place;
    if (input.tagName === "INPUT") put(input, "aria-valuetext", text(i));
    if (value && value.textContent !== text(i)) value.textContent = text(i);
    if (field && !typing && controls[i].written !== text(i)) { field.value = text(i); error(controls[i], ""); }
    if (field) controls[i].written = text(i);
  }
  const read = (control, words) => race.read(control.kind, words, control.marks[0], control.marks[control.marks.length - 1]);
  // What "1,024", "1e3", "30MB", "25 MiB" or "0.5 µs" says: a number, and of what.
  function amount(words) {
    const match = /^((?:\d+\.?\d*|\.\d+)(?:[eE]\d+)?) ?([KMGT]i(?=B)|[kKMGTmuµμn]?)(B|s|)$/.exec(words.replace(/,(?=\d{3}(?!\d))/g, ""));
    if (!match) return [-1, null]; // in no unit at all
    return [Number(match[1]) * { "": 1, k: 1e3, K: 1e3, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, M: 1e6, G: 1e9, T: 1e12, m: 1e-3, u: 1e-6, "µ": 1e-6, "μ": 1e-6, n: 1e-9 }[match[2]], match[3]];
  }
  function typed(i, finished) {
    const control = controls[i], words = control.field.value.trim();
    try {
      if (control.marks) move(i, read(control, words), true);
      else {
        const { texts } = control, most = texts[last(i)];
        const [value, unit] = amount(words), [, its] = amount(most), all = texts.map((each) => amount(each)[0]);
        if (value && unit !== its) throw new Error(`must be a number ${its && "with its unit, "}from ${texts[0]} to ${most}`);
        const place = all.findIndex((each) => Math.abs(each - value) <= 1e-9 * value);
        const near = texts.filter((_, k) => all[k] < value).slice(-1).concat(texts.filter((_, k) => all[k] > value).slice(0, 1));
        if (place < 0) throw new Error(`not counted here; the nearest ${near.length > 1 ? "are" : "is"} ${near.join(" and ")}`);
        move(i, place, true);
      }
      error(control, "");
    } catch (problem) { // what is being typed is no mistake yet
      error(control, finished ? `${words || "nothing"}: ${problem.message}; shown is ${text(i)}` : "");
    }
  }
  function move(i, value, typing) {
    if (controls[i].marks ? !(value > 0) : value < 0 || value > last(i)) return;
    const began = performance.now();
    at[i] = value;
    reserve(i === data.play);
    remark("");
    for (let k = i + 1; k < controls.length; k += 1) refit(k);
    controls.forEach((_, k) => label(k, typing && k === i));
    const swapped = parts.reduce((count, part) => count + show(part), 0);
    ends();
    steady();
    const detail = { milliseconds: performance.now() - began, swapped, indices: at.slice() };
    fit();
    clearTimeout(writing);
    writing = setTimeout(write, 200);
    root.dispatchEvent(new CustomEvent("colllib:change", { bubbles: true, detail }));
  }

  // -- marks in a picture that pick a value: data-pick="control=place" ---------------------------
  function offer(node) {
    node.querySelectorAll("[data-pick]").forEach((mark) => {
      const [name, place] = mark.dataset.pick.split("="), i = indexOf(name), chosen = at[i] === Number(place);
      const attributes = { role: "button", tabindex: chosen ? 0 : -1, "aria-pressed": chosen, "aria-label": [controls[i].texts[place], mark.dataset.says].filter(Boolean).join(", ") };
      Object.entries(attributes).forEach(([key, value]) => mark.setAttribute(key, value));
    });
  }
  function picked(event) { // by pointer, Enter or space; arrows go on to the next one
    const mark = event.target.closest("[data-pick]");
    const on = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Enter: 0, " ": 0 }[event.key];
    if (!mark || (event.type === "keydown" && on === undefined)) return;
    const [name, place] = mark.dataset.pick.split("="), i = indexOf(name), kind = mark.tagName;
    event.preventDefault();
    stop();
    move(i, on ? at[i] + on : Number(place));
    const again = [...root.querySelectorAll(`[data-pick="${name}=${at[i]}"]`)].filter((node) => node.getClientRects().length);
    (again.find((node) => node.tagName === kind) || again[0] || root).focus({ preventScroll: true });
  }

  // -- parts -----------------------------------------------------------------------------------
  function say(html) { // a screen reader reads all that is written here, so nothing is written twice
    const made = document.createElement("p");
    made.innerHTML = html;
    if (made.innerHTML !== live.innerHTML) live.innerHTML = html;
  }
  function show(part) {
    if (part.view) {
      const width = part.canvas.clientWidth;
      const fold = part.node.closest("details");
      if (fold && !fold.open) return 0; // drawn when it is opened
      const { html, x, row, y } = shown(data, part, at, width);
      if (part.node === live) say(html); else part.canvas.innerHTML = html;
      if (part.handle) part.place(x, row, y);
      if (lit) light(lit);
      return 1;
    }
    const id = pick(part.tree, part.on, at);
    if (id === part.shown) return 0;
    part.shown = id;
    part.node.innerHTML = data.fragments[id];
    seats(part.node);
    offer(part.node);
    return 1;
  }
  // Ranks drawn in boxes: one is taken, by pointer or key, and changes places with one in another box. The control that
  // they name lists the ranks of the first box.
  let taken = null, dragged = null;
  const seat = (node) => node && node.closest("[data-rank]");
  function seats(node) {
    node.querySelectorAll("[data-rank]").forEach((each) => Object.entries({ role: "button", tabindex: "0",
      "aria-pressed": String(each.dataset.rank === taken) }).forEach(([name, value]) => put(each, name, value)));
  }
  function exchange(node, one, other) {
    const i = indexOf(one.dataset.of);
    const [a, b] = [one.dataset.rank, other.dataset.rank];
    const inside = text(i).split(", ");
    if (inside.includes(a) === inside.includes(b)) return false;
    taken = null;
    const now = inside.map((rank) => (rank === a ? b : rank === b ? a : rank)).sort((x, y) => x - y).join(", ");
    move(i, controls[i].texts.indexOf(now));
    node.querySelector(`[data-rank="${a}"]`).focus({ preventScroll: true });
    return true;
  }
  function take(node, chosen) {
    const held = node.querySelector('[aria-pressed="true"]');
    if (held && exchange(node, held, chosen)) return;
    taken = held === chosen ? null : chosen.dataset.rank;
    seats(node);
  }
  function rearranged({ node }) {
    node.addEventListener("pointerdown", (event) => { dragged = seat(event.target) && { seat: seat(event.target), x: event.clientX, y: event.clientY }; });
    node.addEventListener("pointermove", (event) => {
      if (!dragged || !event.buttons) return;
      const { a } = dragged.seat.getScreenCTM();
      dragged.seat.setAttribute("transform", `translate(${(event.clientX - dragged.x) / a} ${(event.clientY - dragged.y) / a})`);
    });
    ["pointerup", "pointerleave", "pointercancel"].forEach((kind) => node.addEventListener(kind, (event) => {
      if (!dragged) return;
      dragged.seat.removeAttribute("transform");
      const onto = document.elementsFromPoint(event.clientX, event.clientY).map(seat).find((each) => each && each !== dragged.seat);
      if (onto) exchange(node, dragged.seat, onto);
      dragged = null;
    }));
    node.addEventListener("click", (event) => { if (seat(event.target)) take(node, seat(event.target)); });
    node.addEventListener("keydown", (event) => {
      if (!seat(event.target) || !["Enter", " ", "Escape"].includes(event.key)) return;
      event.preventDefault();
      if (event.key === "Escape") taken = null;
      else take(node, event.target);
      seats(node);
    });
  }
  function light(name) {
    lit = name;
    root.classList.toggle("cl-lighting", Boolean(name));
    root.querySelectorAll("[data-row]").forEach((node) => node.classList.toggle("cl-lit", node.dataset.row === name));
  }
  // A handle on the rule of a chart over the message: pointers drag it, keys move it from mark to mark. On a map a pointer
  // chooses the ranks as well, and what stands under it is read out before it is pressed.
  function hold(part) {
    const i = indexOf(data.races[part.race].m), ranks = indexOf(part.ranks);
    if (!["curves", "map"].includes(part.view)) return;
    const handle = document.createElement("div");
    const { marks } = data.controls[i];
    let axis = null, row = 0, finger = null;
    Object.entries({ class: part.view === "map" ? "cl-handle cl-grip" : "cl-handle", role: "slider", tabindex: "0", "aria-label": `${controls[i].row.querySelector(".cl-name").textContent}, on the chart`,
                     "aria-valuemin": "0", "aria-valuemax": String(marks.length - 1) }).forEach(([name, value]) => handle.setAttribute(name, value));
    part.node.append(handle);
    part.handle = handle;
    part.place = (x, height, y) => {
      [axis, row] = [x, height];
      if (row) handle.style.top = `${y}px`;
      handle.style.left = `${x.at(at[i])}px`;
      put(handle, "aria-valuenow", String(nearest(marks, at[i])));
      put(handle, "aria-valuetext", text(i));
    };
    const under = (event) => { // the message and the ranks below a pointer
      const { left, top } = part.canvas.getBoundingClientRect();
      const share = (event.clientX - left - axis.start) / (axis.stop - axis.start);
      const message = Number((axis.low * (axis.high / axis.low) ** Math.min(Math.max(share, 0), 1)).toPrecision(2));
      if (!row) return [message];
      const n = part.over[Math.min(Math.max(Math.floor((event.clientY - top) / row), 0), part.over.length - 1)];
      return [message, controls[ranks].texts.indexOf(String(n))];
    };
    const outside = ({ clientX }) => !axis || clientX - part.canvas.getBoundingClientRect().left > axis.stop + 6;
    const drag = (event) => {
      const [message, k] = under(event);
      handle.focus({ preventScroll: true });
      if (row && k !== at[ranks]) move(ranks, k);
      move(i, message);
    };
    // A finger may scroll the page from wherever it is put: it chooses where it taps, and drags the handle alone.
    part.node.addEventListener("pointerdown", (event) => {
      finger = event.pointerType === "touch" ? event : null;
      if (event.button || outside(event) || (finger && event.target !== handle)) return;
      handle.setPointerCapture(event.pointerId);
      if (!finger) drag(event);
      event.preventDefault();
    });
    part.node.addEventListener("click", (event) => { if (finger && event.target !== handle && !outside(event)) drag(event); });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      if (finger && Math.hypot(event.clientX - finger.clientX, row ? event.clientY - finger.clientY : 0) < 6) return;
      finger = null;
      drag(event);
    });
    if (part.view === "map") {
      const tip = document.createElement("div");
      Object.assign(tip, { className: "cl-tip", hidden: true });
      part.node.append(tip);
      part.node.addEventListener("pointermove", (event) => {
        const { left, top, right } = part.canvas.getBoundingClientRect();
        tip.hidden = Boolean(event.buttons) || event.clientY - top > row * part.over.length;
        if (tip.hidden) return;
        const [message, k] = under(event);
        tip.innerHTML = shown(data, parts[parts.length - 1], at.with(i, message).with(ranks, k)).html;
        tip.style.top = `${event.clientY - top + 18}px`;
        tip.style.left = `${Math.min(event.clientX - left + 12, right - left - tip.offsetWidth)}px`;
      });
      part.node.addEventListener("pointerleave", () => { tip.hidden = true; });
      addEventListener("keydown", ({ key }) => { if (key === "Escape") tip.hidden = true; });
    }
    handle.addEventListener("keydown", (event) => {
      const place = nearest(marks, at[i]);
      const to = { ArrowRight: place + 1, ArrowUp: place + 1, ArrowLeft: place - 1, ArrowDown: place - 1, PageUp: place + 10,
                   PageDown: place - 10, Home: 0, End: marks.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      move(i, marks[Math.min(Math.max(to, 0), marks.length - 1)]);
    });
  }
  // Only what overflows needs a place in the tab order.
  function fit() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => parts.forEach(({ node }) => {
      if (node.scrollWidth > node.clientWidth + 1) node.tabIndex = 0;
      else node.removeAttribute("tabindex");
    }));
  }
  // The answer stands above the figure, which would jump with every line more or less: it is as high as it has been.
  const tall = (node) => node.getBoundingClientRect().height;
  const steady = () => { live.style.minHeight = `${tall(live)}px`; };
  // What is played has room for its highest step from the first one on, measured beside it, so that nothing below jumps.
  let reserved = false;
  function reserve(played) {
    if (played === reserved) return;
    reserved = played;
    parts.filter(({ on }) => on && on.includes(data.play)).forEach(({ node, tree, on }) => {
      if (node !== live) node.style.minHeight = "";
      if (!played) return;
      const model = node.cloneNode(), unfolded = Boolean(node.querySelector("details[open]"));
      model.removeAttribute("aria-live");
      model.style.cssText = `position: absolute; inset: auto; visibility: hidden; width: ${node.getBoundingClientRect().width}px`;
      node.after(model);
      const steps = new Set(controls[data.play].texts.map((_, k) => pick(tree, on, at.with(data.play, k))));
      const heights = [...steps].map((id) => {
        model.innerHTML = data.fragments[id];
        model.querySelectorAll("details").forEach((fold) => { fold.open = unfolded; });
        return tall(model);
      });
      model.remove();
      node.style.minHeight = `${Math.max(tall(node), ...heights)}px`;
    });
  }
  // On a phone it stays in sight above the figure that it is about, one line of it until it is tapped.
  const phone = matchMedia("(max-width: 600px)"); // as in explorer.css
  function stick() {
    const stuck = phone.matches && live.getBoundingClientRect().bottom > live.nextElementSibling.getBoundingClientRect().top + 2;
    live.classList.toggle("cl-stuck", stuck);
    if (!stuck) live.classList.remove("cl-whole");
  }

  // -- playing ---------------------------------------------------------------------------------
  function ends() {
    if (!buttons.play) return;
    put(buttons.previous, "aria-disabled", String(at[data.play] === 0));
    put(buttons.next, "aria-disabled", String(at[data.play] === last(data.play)));
  }
  const base = Number(root.dataset.pause) || PAUSE;
  const pause = () => Number(root.dataset.pause);
  function speed() { root.dataset.pause = base / Number(buttons.speed.value); }
  function stop() {
    clearTimeout(timer);
    timer = 0;
    if (buttons.play) buttons.play.textContent = "Play";
    live.setAttribute("aria-live", "polite");
  }
  function tick() {
    const over = at[data.play] >= last(data.play);
    if (!root.isConnected || (over && !buttons.loop.checked)) { stop(); return; }
    move(data.play, over ? 0 : at[data.play] + 1);
    if (at[data.play] >= last(data.play) && !buttons.loop.checked) stop();
    else timer = setTimeout(tick, pause());
  }
  function play() {
    if (timer) {
      stop();
      setTimeout(() => live.replaceChildren(...live.childNodes), 100); // read out where it has stopped
      return;
    }
    reserve(false); // something may have been unfolded
    buttons.play.textContent = "Pause";
    live.setAttribute("aria-live", "off"); // a step every second is too much to read out
    if (at[data.play] >= last(data.play)) move(data.play, 0);
    timer = setTimeout(tick, pause() / 3);
  }

  // -- the address -----------------------------------------------------------------------------
  const compact = (i) => (controls[i].marks ? race.show[controls[i].kind](at[i], 12).replace(/ /g, "").replace("µ", "u") : slug(text(i)));
  const decoded = (words) => { try { return decodeURIComponent(words); } catch (problem) { return words; } };
  const link = () => `#${root.id}?${controls.map((control, i) => `${control.name}=${compact(i)}`).join("&")}`;
  function write() {
    clearTimeout(writing);
    history.replaceState(history.state, "", link());
  }
  function restore(query) {
    const requested = new Map(query.split("&").map((pair) => pair.split("=").map(decoded)));
    controls.forEach((control, i) => {
      const asked = requested.get(control.name);
      refit(i);
      const place = control.marks ? 0 : control.texts.findIndex((each) => slug(each) === asked);
      try {
        if (place < 0) return;
        at[i] = control.marks ? read(control, asked) : place;
        requested.delete(control.name);
      } catch (problem) { /* it stays among what is requested */ }
    });
    requested.delete("");
    const missing = [...requested].map((pair) => pair.join("="));
    remark(missing.length ? `The link asks for ${missing.join(", ")}, which is not on offer here. The controls say what is shown.` : "");
    controls.forEach((_, i) => { refit(i); label(i); });
    reserve(false);
    parts.forEach(show);
    ends();
    fit();
  }

  // -- listening -------------------------------------------------------------------------------
  controls.forEach(({ input, field, marks }, i) => {
    if (!input) return;
    input.addEventListener("input", (event) => {
      stop();
      move(i, marks ? marks[Number(input.value)] : Number(event.target.value ?? input.value));
    });
    if (field) ["input", "change"].forEach((kind) => field.addEventListener(kind, () => {
      stop();
      if (kind === "input" || !root.matches(":active")) typed(i, kind === "change");
      else addEventListener("click", () => setTimeout(typed, 0, i, true), { once: true }); // what is pressed stays below the pointer
    }));
    if (input.tagName === "FIELDSET") input.querySelectorAll("input").forEach((radio) => { radio.name = `${root.id}-${i}`; });
  });
  if (buttons.speed) {
    buttons.speed.addEventListener("change", speed);
    speed();
  }
  const notify = (words) => { // seen and heard
    buttons.copy.textContent = words || "Copy link";
    root.querySelector("[role=status]").textContent = words;
  };
  const acts = {
    play,
    previous: () => { stop(); move(data.play, at[data.play] - 1); },
    next: () => { stop(); move(data.play, at[data.play] + 1); },
    copy: async () => {
      write();
      const copied = navigator.clipboard ? navigator.clipboard.writeText(location.href) : Promise.reject();
      notify(await copied.then(() => "Copied", () => "See the address bar"));
      setTimeout(notify, 1500, "");
    },
  };
  Object.keys(buttons).forEach((act) => acts[act] && buttons[act].addEventListener("click", acts[act]));
  ["click", "keydown"].forEach((kind) => root.addEventListener(kind, picked));
  const row = (event) => { const node = event.target.closest("[data-row]"); return node && node.dataset.row; };
  ["pointerover", "focusin"].forEach((kind) => root.addEventListener(kind, (event) => { if (row(event) !== lit) light(row(event)); }));
  root.addEventListener("pointerleave", () => light(null));
  parts.forEach((part) => {
    if (!part.view) { seats(part.node); rearranged(part); return; }
    if (!part.node.hasAttribute("aria-live")) {
      part.canvas = document.createElement("div");
      part.canvas.append(...part.node.childNodes);
      part.node.append(part.canvas);
      hold(part);
    }
    const fold = part.node.closest("details");
    if (fold) fold.addEventListener("toggle", () => show(part));
  });
  ["focusin", "input", "click"].forEach((kind) => root.addEventListener(kind, ({ target }) => {
    const used = target.closest(".cl-play") || target.closest(".cl-control");
    if (!used || (kind === "focusin" && root.matches(":active"))) return; // what is pressed stays below the pointer
    root.querySelectorAll(".cl-held").forEach((each) => each.classList.remove("cl-held"));
    used.classList.add("cl-held"); // explorer.css keeps it in sight, and the answer below it
    root.style.setProperty("--cl-held", `${used.offsetHeight}px`);
  }));
  addEventListener("scroll", stick, { passive: true });
  live.addEventListener("click", () => live.classList.toggle("cl-whole"));
  let wide = root.clientWidth;
  new ResizeObserver(() => {
    if (root.clientWidth === wide) return;
    wide = root.clientWidth;
    live.style.minHeight = "";
    const played = reserved;
    reserve(false);
    reserve(played);
    parts.forEach((part) => { if (part.view) show(part); });
    steady();
    fit();
  }).observe(root);
  root.querySelectorAll("fieldset.cl-controls").forEach((field) => { field.disabled = false; });
  root.classList.add("cl-running");
  controls.forEach((_, i) => label(i));
  parts.forEach(show);
  offer(root);
  ends();
  steady();
  fit();
  return restore;
}

// -- every explorer of the page: the one that the address names at once, the others when they come near ----
const begun = new Map();
function begin(root) {
  if (begun.has(root)) return begun.get(root);
  const script = root.querySelector("script[data-digest]");
  const ready = unpack(script).then((data) => {
    root.data = data;
    const restore = run(root, data);
    root.dispatchEvent(new CustomEvent("colllib:ready", { bubbles: true }));
    return restore;
  }).catch((problem) => {
    root.querySelector(".cl-note").textContent = `The controls could not start (${problem.message}). Shown is the first state.`;
  });
  begun.set(root, ready);
  return ready;
}
function arrive() {
  const [, name, query] = /^#([^?]+)\?(.*)$/.exec(location.hash) || [];
  const root = name && document.getElementById(name);
  if (!root || !root.matches(".cl-explorer")) return;
  begin(root).then((restore) => {
    if (restore) restore(query);
    root.scrollIntoView();
  });
}
const near = new IntersectionObserver((seen) => seen.forEach(({ isIntersecting, target }) => {
  if (isIntersecting) { near.unobserve(target); begin(target); }
}), { rootMargin: "800px" });
function start() {
  document.querySelectorAll(".cl-explorer:not([data-started])").forEach((root) => {
    const script = root.querySelector("script[data-digest]");
    if (!script) return;
    root.dataset.started = "";
    const name = root.id;
    for (let k = 2; document.getElementById(root.id) !== root; k += 1) root.id = `${name}-${k}`;
    if (script.dataset.src) near.observe(root); else begin(root);
  });
}
// Who tabs would jump over controls that have not started.
function tabbed({ key }) {
  if (key !== "Tab") return;
  document.removeEventListener("keydown", tabbed);
  document.querySelectorAll(".cl-explorer[data-started]").forEach(begin);
}
document.addEventListener("keydown", tabbed);
window.colllibShow = { start, load: (digest, packed) => arrived.get(digest)(packed), shown, read: race.read };
window.addEventListener("hashchange", arrive);
start();
arrive();
