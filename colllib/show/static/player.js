// The page's half of colllib.show.player. Python has drawn every picture after its first step, and says
// for each step what changes; this script lets the blocks travel and fills the cells.
(function () {
  "use strict";
  if (window.colllibPlayers) { window.colllibPlayers.start(); return; }

  const FEW = 8, HUES = 8; // as in colllib/show/pen.py
  const FINAL = 2, ARRIVED = 4, SPENT = 8;
  const PAUSE = 1400; // milliseconds a step at speed 1
  const TRAVEL = 0.6; // the part of a step in which blocks are under way
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const num = (value) => String(Number(value.toFixed(1)));
  const rect = (x, y, w, h, round = "") => (
    `<rect x="${num(x)}" y="${num(y)}" width="${num(w)}" height="${num(h)}"${round && ' class="round"'}/>`);

  function arrow(d, kind) {
    const [x0, y0, x, y] = d.match(/-?[\d.]+/g).slice(-4).map(Number);
    const length = Math.hypot(x - x0, y - y0) || 1;
    const ux = (x - x0) / length, uy = (y - y0) / length;
    const [left, right] = [1, -1].map((s) => `L${num(x - 7.5 * ux + s * 4 * uy)} ${num(y - 7.5 * uy - s * 4 * ux)}`);
    return `<g class="a ${kind}"><path d="${d}"/><path class="d" d="M${num(x)} ${num(y)}${left}${right}z"/></g>`;
  }

  function token(content, kind) {
    if (content === "") return `<g class="c h${kind} p f">${rect(-5, -5, 10, 10, true)}</g>`;
    if (typeof content === "string") {
      const wide = 6.6 * content.length + 8;
      return `<g class="c h${kind} p f">${rect(-wide / 2, -8, wide, 16, true)}<text x="0" y="4">${content}</text></g>`;
    }
    const columns = Math.min(content.length, 4), rows = Math.ceil(content.length / columns);
    return content.map((index, k) => {
      const x = 14 * (k % columns) - (14 * columns - 1) / 2, y = 16 * Math.floor(k / columns) - (16 * rows - 1) / 2;
      const text = `<text x="${num(x + 6.5)}" y="${num(y + 11.5)}">${index}</text>`;
      return `<g class="c h${index % HUES} p f">${rect(x, y, 13, 15)}${text}</g>`;
    }).join("");
  }

  function dashes(value, slots) {
    if (slots > FEW) return `${value} ${slots}`;
    return Array.from({ length: slots }, (_, k) => ((value >> k) & 1 ? ".8 .2" : "0 1")).join(" ");
  }

  // A cell's state, and what a screen reader says of it.
  function fill(cell, code) {
    const value = Math.floor(code / 16), marks = code % 16;
    const looks = { p: value, f: marks & FINAL, m: marks & ARRIVED, x: marks & SPENT };
    Object.keys(looks).forEach((name) => cell.classList.toggle(name, Boolean(looks[name])));
    const [frame, path, text] = ["rect", "path", "text"].map((name) => cell.querySelector(name));
    const slots = path ? Number(path.getAttribute("pathLength")) : 1;
    if (path && path.dataset.many) {
      const blocks = Math.floor(value / (slots + 1)), part = (name) => frame.getAttribute(name) - 2;
      const wide = part("width") * blocks / path.dataset.many, high = part("height") * (value % (slots + 1)) / slots;
      path.setAttribute("d", `M0 0h${num(wide)}v-${num(high)}H0z`);
    } else if (path) path.setAttribute("stroke-dasharray", dashes(value, slots));
    if (!value || !text) return "";
    const whole = slots > FEW ? value === slots : value === 2 ** slots - 1;
    const from = Array.from({ length: slots }, (_, k) => k).filter((k) => (value >> k) & 1);
    return text.textContent + (slots === 1 ? "" : whole ? " complete" : ` from ${from.join(", ")}`);
  }

  function cells(svg, codes) {
    let next = 0;
    svg.querySelectorAll(".k").forEach((card) => {
      const inside = [...card.querySelectorAll(".c")];
      const contents = inside.map((cell) => { next += 1; return fill(cell, codes[next - 1]); }).filter(Boolean);
      const done = `${card.querySelectorAll(".f").length} of ${inside.length} final`;
      const held = inside[0].querySelector("text") ? contents.join("; ") || "nothing" : done;
      card.setAttribute("aria-label", `${card.dataset.name}: ${held}`);
    });
  }

  function moves(svg, frame, tokens) {
    const pieces = svg.querySelector(".e").getAttribute("d").split(/(?=M)/);
    const tracks = svg.dataset.tracks.split(",").map((track) => [track.slice(1), pieces.splice(0, track[0]).join("")]);
    svg.querySelector(".as").innerHTML = frame.moves.map(([track, add]) => (
      arrow(tracks[track][1], `${add ? "add" : "copy"} ${tracks[track][0]}`))).join("");
    svg.querySelector(".ts").innerHTML = frame.moves.map(([track, , kind], k) => (
      `<g class="t" style="offset-path:path('${tracks[track][1]}');offset-distance:${tokens[k][0]}%">`
      + `${token(tokens[k][1], kind)}</g>`)).join("");
  }

  function run(root) {
    const parts = [...root.querySelectorAll("[data-part]")];
    const now = () => ({ scene: root.querySelector(".cl-scene"), frame: JSON.parse(root.querySelector("[data-frame]").dataset.frame) });
    let shown = now();
    let listed = false; // whether the reader has unfolded the messages
    let timer = 0;

    function update() {
      const { scene, frame } = now(), drawings = [...scene.querySelectorAll("svg.cl-stage")];
      const list = root.querySelector(".cl-moves");
      if (list) list.open = listed;
      const travels = !still.matches && scene === shown.scene && frame.t === shown.frame.t + 1;
      const land = () => {
        scene.classList.remove("cl-go");
        drawings.forEach((svg) => cells(svg, frame.cells));
      };
      clearTimeout(timer);
      if (travels) drawings.forEach((svg) => cells(svg, shown.frame.cells)); // those before have landed
      drawings.forEach((svg, k) => moves(svg, frame, frame.tokens[k]));
      shown = { scene, frame };
      scene.classList.toggle("cl-go", travels);
      const travel = TRAVEL * Number(root.dataset.pause);
      root.style.setProperty("--cl-travel", `${travel}ms`);
      if (travels) timer = setTimeout(land, travel); else land();
    }

    root.addEventListener("toggle", (event) => {
      if (event.target.matches(".cl-moves")) listed = event.target.open;
    }, true);
    root.dataset.pause = PAUSE; // explorer.js divides it by the speed chosen
    const watch = new MutationObserver(update);
    parts.forEach((part) => watch.observe(part, { childList: true }));
  }

  function start() {
    document.querySelectorAll(".cl-explorer:not([data-player])").forEach((root) => {
      if (!root.querySelector(".cl-scene")) return;
      root.dataset.player = "";
      run(root);
    });
  }

  window.colllibPlayers = { start };
  start();
}());
