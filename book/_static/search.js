/* The search page by section: every word must be there, titles count most, an excerpt says where.
   SECTIONS is written by the book's extension: [page, its title, anchor, title, text]. */
(() => {
  "use strict";
  // One thing under several spellings: what readers type, and what finds it.
  const SPELLINGS = [
    [/\ball[ -]?reduce/g, "allreduce", "all[ -]?reduce"],
    [/\ball[ -]?gather/g, "allgather", "all[ -]?gather"],
    [/\ball[ -]?(?:to|2)[ -]?all|\ba2a\b/g, "alltoall", "all[ -]?to[ -]?all"],
    [/\breduce[ -]?scatter/g, "reducescatter", "reduce[ -]?scatter"],
    [/\bpoint[ -]?to[ -]?point|\bp2p\b/g, "pointtopoint", "point[ -]?to[ -]?point"],
    [/\bbus ?(?:bw|bandwidth)/g, "busbw", "bus(?:bw| bandwidth)"],
    [/\balg ?(?:bw|bandwidth)/g, "algbw", "alg(?:bw|orithm bandwidth)"],
    [/\bdbt\b/g, "dbt", "double binary tree"],
  ];
  const MOST = 40;
  const AROUND = 110; // characters of an excerpt on either side

  function patterns(query) {
    const plain = SPELLINGS.reduce((text, [typed, name]) => text.replace(typed, name), query.toLowerCase());
    return plain.split(/[\s,]+/).filter(Boolean).map((word) => {
      const known = SPELLINGS.find(([, name]) => word.startsWith(name));
      if (known) return known[2];
      return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/-/g, "[ -]?");
    });
  }

  const starting = (pattern, flags) => new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})`, flags);

  function weight(page) {
    if (page.startsWith("notebooks/")) return 1;
    return /claims|errata|references/.test(page) ? 0.2 : 0.7;
  }

  function find(query) {
    const words = patterns(query);
    if (!words.length) return [];
    const each = words.map((word) => starting(word, "iu"));
    const phrase = starting(words.join("[\\s-]+"), "giu");
    const all = (text) => each.every((word) => word.test(text));
    const count = (text) => (text.match(phrase) || []).length;
    const found = [];
    for (const [page, of, anchor, title, text] of SECTIONS) {
      if (!all(`${of} ${title} ${text}`) || !each.some((word) => word.test(`${title} ${text}`))) continue;
      let score = Math.min(count(text), 8) + (count(text) ? 10 : 0);
      if (count(title)) score += 40 + 20 * (title.match(phrase)[0].length / title.length);
      else if (all(title)) score += 30;
      if (all(of)) score += 10;
      found.push({ page, of, anchor, title, text, score: score * weight(page) });
    }
    return found.sort((a, b) => b.score - a.score).slice(0, MOST);
  }

  /* The text around the first place, with the words marked. */
  function excerpt(text, query) {
    const words = patterns(query);
    const first = text.search(starting(words.join("[\\s-]+"), "iu"));
    const place = first < 0 ? text.search(starting(words.join("|"), "iu")) : first;
    const from = place <= AROUND ? 0 : text.indexOf(" ", place - AROUND) + 1;
    const last = text.indexOf(" ", Math.max(place, 0) + 2 * AROUND);
    const shown = last < 0 ? text.slice(from) : text.slice(from, last);
    const line = document.createElement("p");
    line.className = "context";
    if (from) line.append("… ");
    let done = 0;
    for (const match of shown.matchAll(starting(words.join("|"), "giu"))) {
      const mark = document.createElement("mark");
      mark.textContent = match[0];
      line.append(shown.slice(done, match.index), mark);
      done = match.index + match[0].length;
    }
    line.append(shown.slice(done), from + shown.length < text.length ? " …" : "");
    return line;
  }

  Search.query = (query) => {
    const found = find(query);
    Search.stopPulse();
    Search.title.textContent = "Search results";
    const number = found.length === MOST ? `The first ${MOST} sections` : `${found.length} section${found.length === 1 ? "" : "s"}`;
    Search.status.textContent = found.length ? `${number} for “${query}”` : `Nothing is found for “${query}”.`;
    for (const one of found) {
      const item = Search.output.appendChild(document.createElement("li"));
      const link = item.appendChild(document.createElement("a"));
      link.href = `${one.page}.html#${one.anchor}`;
      link.textContent = one.title;
      if (one.title !== one.of) item.append(` in ${one.of}`);
      item.append(excerpt(one.text, query));
    }
  };
})();
