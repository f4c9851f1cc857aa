// The page's half of colllib.show.Explorer. Python has rendered every state; this
// script only picks fragments out of the payload and puts them in place.
(function () {
  "use strict";
  if (window.colllibShow) { window.colllibShow.start(); return; }

  const PAUSE = 900; // milliseconds between steps while playing
  const pick = (tree, on, at) => on.reduce((node, control) => node[at[control]], tree);
  const put = (node, name, text) => { if (node.getAttribute(name) !== text) node.setAttribute(name, text); };

  async function unpack(script) {
    const bytes = Uint8Array.from(atob(script.textContent.trim()), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(plain).text());
  }

  function run(root, data) {
    const at = data.start.slice();
    const controls = data.controls.map((control, i) => {
      const input = root.querySelector(`[data-control="${i}"]`);
      return { ...control, input, value: input.parentNode.querySelector(".cl-value"),
               texts: pick(control.tree, control.on, at) };
    });
    const parts = data.parts.map((part, i) => (
      { ...part, node: root.querySelector(`[data-part="${i}"]`), shown: pick(part.tree, part.on, at) }));
    const live = root.querySelector("[aria-live]");
    const buttons = {};
    root.querySelectorAll("[data-act]").forEach((b) => { buttons[b.dataset.act] = b; });
    const last = (i) => controls[i].texts.length - 1;
    let timer = 0;
    let frame = 0;

    // An earlier control has moved: keep the text where the new range has it, else clamp.
    function refit(i) {
      const control = controls[i];
      const texts = pick(control.tree, control.on, at);
      if (texts === control.texts) return;
      const kept = texts.indexOf(control.texts[at[i]]);
      at[i] = kept >= 0 ? kept : Math.min(at[i], texts.length - 1);
      control.texts = texts;
      if (control.input.tagName === "SELECT") {
        control.input.replaceChildren(...texts.map((text, k) => new Option(text, k)));
      } else {
        control.input.max = texts.length - 1;
      }
    }

    function label(i) {
      const { input, value, texts } = controls[i];
      if (Number(input.value) !== at[i]) input.value = at[i];
      if (!value) return;
      put(input, "aria-valuetext", texts[at[i]]);
      if (value.textContent !== texts[at[i]]) value.textContent = texts[at[i]];
    }

    function show(part) {
      const id = pick(part.tree, part.on, at);
      if (id === part.shown) return 0;
      part.shown = id;
      part.node.innerHTML = data.fragments[id];
      return 1;
    }

    // Only what overflows needs a place in the tab order.
    function fit() {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => parts.forEach(({ node }) => {
        if (node.scrollWidth > node.clientWidth + 1) node.tabIndex = 0;
        else node.removeAttribute("tabindex");
      }));
    }

    function ends() {
      if (!buttons.play) return;
      put(buttons.previous, "aria-disabled", String(at[data.play] === 0));
      put(buttons.next, "aria-disabled", String(at[data.play] === last(data.play)));
    }

    function move(i, index) {
      if (index < 0 || index > last(i)) return;
      const began = performance.now();
      at[i] = index;
      for (let k = i + 1; k < controls.length; k += 1) refit(k);
      controls.forEach((_, k) => label(k));
      const swapped = parts.reduce((count, part) => count + show(part), 0);
      ends();
      const detail = { milliseconds: performance.now() - began, swapped, indices: at.slice() };
      fit();
      root.dispatchEvent(new CustomEvent("colllib:change", { bubbles: true, detail }));
    }

    function stop() {
      clearTimeout(timer);
      timer = 0;
      if (buttons.play) buttons.play.textContent = "Play";
      live.setAttribute("aria-live", "polite");
    }

    // The root may say how long a step lasts, and that the end is followed by the beginning.
    function tick() {
      const ended = () => at[data.play] >= last(data.play) && root.dataset.loop === undefined;
      if (!root.isConnected || ended()) { stop(); return; }
      move(data.play, at[data.play] >= last(data.play) ? 0 : at[data.play] + 1);
      if (ended()) stop(); else timer = setTimeout(tick, Number(root.dataset.pause) || PAUSE);
    }

    function play() {
      if (timer) { stop(); return; }
      buttons.play.textContent = "Pause";
      live.setAttribute("aria-live", "off"); // a step every second is too much to read out
      if (at[data.play] >= last(data.play)) move(data.play, 0);
      timer = setTimeout(tick, PAUSE / 3);
    }

    controls.forEach(({ input }, i) => input.addEventListener("input", () => { stop(); move(i, Number(input.value)); }));
    const acts = {
      play,
      previous: () => { stop(); move(data.play, at[data.play] - 1); },
      next: () => { stop(); move(data.play, at[data.play] + 1); },
    };
    Object.keys(buttons).forEach((act) => buttons[act].addEventListener("click", acts[act]));
    window.addEventListener("resize", fit);
    root.querySelector("fieldset").disabled = false;
    root.classList.add("cl-running");
    controls.forEach((_, i) => label(i));
    ends();
    fit();
    root.dispatchEvent(new CustomEvent("colllib:ready", { bubbles: true }));
  }

  function start() {
    document.querySelectorAll(".cl-explorer:not([data-started])").forEach((root) => {
      const script = root.querySelector("script[data-digest]");
      if (!script) return;
      root.dataset.started = "";
      unpack(script).then((data) => run(root, data)).catch((error) => {
        root.querySelector(".cl-note").textContent = `The controls could not start (${error.message}). Shown is the first state.`;
      });
    });
  }

  window.colllibShow = { start };
  start();
}());
