/* A table that is wider than its column scrolls sideways: then, and only then, the keyboard reaches it. */
addEventListener("DOMContentLoaded", () => {
  "use strict";
  const wide = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const box = target.closest(".pst-scrollable-table-container");
      const scrolls = box.scrollWidth > box.clientWidth;
      box.tabIndex = scrolls ? 0 : -1;
      box.role = scrolls ? "group" : null;
      box.ariaLabel = scrolls ? "table that scrolls sideways" : null;
    }
  });
  for (const table of document.querySelectorAll(".pst-scrollable-table-container > table")) {
    wide.observe(table);
    wide.observe(table.parentElement);
  }
});
