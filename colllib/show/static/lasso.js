(() => {
  const root = document.currentScript.parentElement, fabrics = JSON.parse(root.dataset.fabrics);
  const select = root.querySelector("select"), ground = root.querySelector(".cl-ground"), loop = ground.querySelector(":scope > svg path");
  const says = root.querySelector(".cl-summary"), table = root.querySelector("table");
  const act = (name) => root.querySelector(`[data-act=${name}]`);
  let inside = new Set([0, 1, 2, 3, 4, 5, 6, 7]), focus = 0, track = null;

  // -- what leaves a set, exactly: the least over all sides on which the few switches can be ----------------
  const gcd = (a, b) => (b ? gcd(b, a % b) : a);
  function leaving({ ranks, nodes, links }, set) {
    let least = Infinity, cut = [];
    for (let side = 0; side < 2 ** (nodes - ranks); side += 1) {
      const within = (node) => (node < ranks ? set.has(node) : side >> (node - ranks) & 1);
      const out = links.filter(([a, b]) => within(a) && !within(b));
      const sum = out.reduce((so, [, , wide]) => so + wide, 0);
      if (sum <= least) [least, cut] = [sum, out];
    }
    return [least, cut];
  }
  function counted(fabric, set) {
    const [unit, part] = fabric.unit, [out, cut] = leaving(fabric, set);
    const over = set.size * part, under = out * unit, shared = gcd(over, under);
    const rate = (value) => `${Number(value.toPrecision(4))} ${fabric.rate}`;
    return {
      cut, ratio: over / under, text: under === shared ? `${over / shared}` : `${over / shared}/${under / shared}`,
      out: rate(under / part), most: rate(fabric.ranks * under / over),
    };
  }

  // -- showing --------------------------------------------------------------------------------------------
  const name = () => select.value, on = () => fabrics[name()];
  const disks = () => [...ground.querySelectorAll(`[data-on="${name()}"] svg`)]
    .filter((svg) => svg.getClientRects().length).flatMap((svg) => [...svg.querySelectorAll("g.n")]);
  const row = ([first, ...rest]) => `<tr><th scope="row">${first}</th>${rest.map((cell) => `<td class="cl-right">${cell}</td>`).join("")}</tr>`;
  function show() {
    const fabric = on();
    ground.querySelectorAll("[data-on]").forEach((picture) => { picture.hidden = picture.dataset.on !== name(); });
    ground.querySelectorAll(`[data-on="${name()}"] svg`).forEach((svg) => svg.querySelectorAll("g.n").forEach((disk, rank) => {
      disk.classList.toggle("i", inside.has(rank));
      disk.classList.toggle("h0", inside.has(rank));
      Object.entries({ role: "checkbox", "aria-label": `rank ${rank}, ${fabric.places[rank]}`, "aria-checked": inside.has(rank), tabindex: rank === focus ? 0 : -1 })
        .forEach(([key, value]) => disk.setAttribute(key, value));
    }));
    const worst = counted(fabric, new Set(fabric.worst));
    const none = inside.size === 0 || inside.size === fabric.ranks;
    const cut = none ? { text: "", out: "", most: "", cut: [] } : counted(fabric, inside);
    const lit = new Set(cut.cut.flatMap(([a, b]) => [`${a}-${b}`, `${b}-${a}`]));
    ground.querySelectorAll(`[data-on="${name()}"] [data-link]`).forEach((link) => link.classList.toggle("cut", lit.has(link.dataset.link)));
    const share = cut.ratio / worst.ratio;
    const summary = none
      ? `${inside.size ? "All ranks are" : "No rank is"} in the set, so nothing has to leave it. No all-gather here is faster than ${worst.most}.`
      : `${inside.size} of ${fabric.ranks} shards ${inside.size === 1 ? "has" : "have"} to leave this set over ${cut.out}: `
        + `${share > 1 - 1e-9 ? "no set is worse, this is a bottleneck." : `${Math.round(100 * share)}% of what the worst set needs.`} No all-gather here is faster than ${worst.most}.`;
    if (says.textContent !== summary) says.textContent = summary; // else it is read out again
    table.innerHTML = '<thead><tr><td></td><th scope="col" class="cl-right">this set</th><th scope="col" class="cl-right">the worst</th></tr></thead><tbody>'
      + [["shards to leave", none ? 0 : inside.size, fabric.worst.length], ["bandwidth out", cut.out, worst.out],
        [`shards per ${fabric.rate}`, cut.text, worst.text], ["algbw at most", cut.most, worst.most]].map(row).join("");
  }
  function put(ranks) {
    inside = new Set(ranks);
    show();
    history.replaceState(history.state, "", link());
  }
  const toggle = (rank) => put(inside.has(rank) ? [...inside].filter((other) => other !== rank) : [...inside, rank]);

  // -- pointers: a loop takes what it encloses, a tap toggles the rank below it ----------------------------
  const middle = (disk) => { const box = disk.querySelector("circle").getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
  const encloses = (points, [x, y]) => points.reduce((odd, [a, b], k) => {
    const [c, d] = points[(k || points.length) - 1];
    return (b > y) !== (d > y) && x < (c - a) * (y - b) / (d - b) + a ? !odd : odd;
  }, false);
  const draw = () => {
    const { left, top } = ground.getBoundingClientRect();
    loop.setAttribute("d", track ? `M${track.map(([x, y]) => `${x - left} ${y - top}`).join("L")}Z` : "");
  };
  ground.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    track = [[event.clientX, event.clientY]];
    ground.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  ground.addEventListener("pointermove", (event) => {
    if (track) { track.push([event.clientX, event.clientY]); draw(); }
  });
  ground.addEventListener("pointercancel", () => { track = null; draw(); });
  ground.addEventListener("pointerup", () => {
    if (!track) return;
    const points = track, [[x, y]] = points, places = disks().map(middle);
    track = null;
    draw();
    if (points.every(([a, b]) => Math.hypot(a - x, b - y) < 6)) {
      const away = places.map(([a, b]) => Math.hypot(a - x, b - y)), rank = away.indexOf(Math.min(...away));
      if (away[rank] < 20) { focus = rank; toggle(rank); }
      return;
    }
    const chosen = places.flatMap((place, rank) => (encloses(points, place) ? [rank] : []));
    if (chosen.length) put(chosen);
  });

  // -- keys: arrows go along the rows of four and from row to row ------------------------------------------
  ground.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 4, ArrowUp: -4 }[event.key];
    if (event.key === " " || event.key === "Enter") toggle(focus);
    else if (step) {
      if (disks()[focus + step]) focus += step;
      show();
      disks()[focus].focus();
    } else return;
    event.preventDefault();
  });

  // -- the address, and buttons -----------------------------------------------------------------------------
  const link = () => `#bottleneck?on=${name()}&set=${[...inside].sort((a, b) => a - b).join(".")}`;
  function arrive() {
    const [, place, ranks] = /^#bottleneck\?on=([^&]+)&set=([\d.]*)$/.exec(decodeURIComponent(location.hash)) || [];
    if (!fabrics[place]) return;
    select.value = place;
    focus = 0;
    inside = new Set(ranks.split(".").filter(Boolean).map(Number).filter((rank) => rank < fabrics[place].ranks));
    root.scrollIntoView();
    show();
  }
  select.addEventListener("change", () => { focus = 0; put([...inside].filter((rank) => rank < on().ranks)); });
  act("worst").addEventListener("click", () => put(on().worst));
  act("clear").addEventListener("click", () => put([]));
  const notify = (words) => { // seen and heard
    act("copy").textContent = words || "Copy link";
    root.querySelector("[role=status]").textContent = words;
  };
  act("copy").addEventListener("click", async () => {
    history.replaceState(history.state, "", link());
    const copied = navigator.clipboard ? navigator.clipboard.writeText(location.href) : Promise.reject();
    notify(await copied.then(() => "Copied", () => "See the address bar"));
    setTimeout(notify, 1500, "");
  });
  window.addEventListener("hashchange", arrive);
  root.classList.add("cl-running");
  show();
  arrive();
})();
