/* What is wider than its column scrolls sideways: then, and only then, the keyboard reaches it. */
addEventListener("DOMContentLoaded", () => {
  "use strict";
  const wide = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const box = target.matches("table") ? target.parentElement : target;
      const what = box.matches("pre") ? "code" : box.matches(".math") ? "formula" : "table";
      const scrolls = box.scrollWidth > box.clientWidth;
      box.tabIndex = scrolls ? 0 : -1;
      box.role = scrolls ? "group" : null;
      box.ariaLabel = scrolls ? `${what} that scrolls sideways` : null;
    }
  });
  const table = ".pst-scrollable-table-container";
  for (const box of document.querySelectorAll(`${table}, ${table} > table, .bd-article div.math, .bd-article pre`)) wide.observe(box);
});

/* What stands above the section that an address names, such as formulas, changes its height after the browser has gone
   there: for a while, and until the reader moves, go there again. */
addEventListener("load", () => {
  "use strict";
  const section = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!section || performance.getEntriesByType("navigation")[0].type !== "navigate") return;
  const heights = new ResizeObserver(() => section.scrollIntoView({ behavior: "instant" }));
  const end = () => heights.disconnect();
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"])
    addEventListener(kind, end, { once: true, passive: true });
  heights.observe(document.body);
  Promise.all([document.fonts.ready, window.MathJax?.startup?.promise]).then(() => setTimeout(end, 3000));
});
