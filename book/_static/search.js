/* The search page by section: it takes a question, rare words and titles count most, an excerpt says where.
   SECTIONS is written by the book's extension: [page, its title, anchor, title, text]. */
(() => {
  "use strict";
  // One thing under several names: what readers type, and what finds it.
  const NAMES = [
    [/\ball[ -]?reduces?\b/g, "all[ -]?reduce"],
    [/\ball[ -]?gathers?\b/g, "all[ -]?gather"],
    [/\ball[ -]?(?:to|2)[ -]?all[sv]?\b|\ba2a\b/g, "all[ -]?to[ -]?all"],
    [/\breduce[ -]?scatters?\b/g, "reduce[ -]?scatter"],
    [/\bpoint[ -]?to[ -]?point\b|\bp2p\b/g, "point[ -]?to[ -]?point|p2p"],
    [/\bbus ?(?:bw|bandwidth)\b/g, "bus(?:bw| bandwidth)"],
    [/\balg ?(?:bw|bandwidth)\b/g, "alg(?:bw|orithm bandwidth)"],
    [/\bdbt\b/g, "double binary tree"],
    [/\b(?:nics?|hcas?|network (?:card|interface)s?)\b/g, "(?:network )?cards?\\b|nics?\\b"],
    [/\b(?:stragglers?|slow (?:nodes?|gpus?|ranks?|workers?))\b/g, "straggler|late rank"],
    [/\b(?:nodes?|servers?)\b/g, "box|node|server"],
    [/\b(?:tp|tensor[ -]parallel(?:ism)?)\b/g, "tp\\b|tensor parallel"],
    [/\b(?:pp|pipeline[ -]parallel(?:ism)?)\b/g, "pp\\b|pipeline parallel"],
    [/\b(?:ep|expert[ -]parallel(?:ism)?|moe)\b/g, "ep\\b|experts?\\b"],
    [/\b(?:d?dp|data[ -]parallel(?:ism)?)\b/g, "d?dp\\b|data parallel"],
    [/\b(?:falls?|drops?|decreases?|goes? down)\b/g, "fall|drop|sink"],
    [/\b(?:(?:non-?)?determinis\w+|bitwise|reproducib\w+|identical)\b/g, "determinis|reproducib|(?:same )?bits\\b"],
    [/\b(?:ttft|prefill|first token)\b/g, "prefill|first token|prompt"],
    [/\b(?:gb[23]00|nvl ?72)\b/g, "nvl72|gb[23]00"],
    [/\b(?:avg|averages?)\b/g, "avg|average"],
    [/\bwarm[ -]?ups?\b/g, "warm"],
    [/\becmp\b/g, "ecmp|hash"],
    [/\bbond(?:ed|ing)?\b/g, "bonded card"],
    [/\b(?:overlap(?:s|ped|ping)?|hid(?:e|es|den|ing))\b/g, "overlap|hid(?:es?|den|ing)\\b|exposed"],
    [/\b(?:watchdog|time(?:s|d)? ?outs?|hangs?|hung|stuck)\b/g, "hangs?\\b|timeout"],
    [/\b\d+:1(?!\d)/g, "to (?:one|1)\\b"],
    ...[[2, "two"], [3, "three"], [4, "four"], [8, "eight"]].map(([digit, word]) => [
      new RegExp(`(?<![\\w#./-])(?:${digit}|${word})(?![\\w(/.-]| [kmgt]i?b\\b)`, "g"),
      `${digit}\\b|${word}`,
    ]),
  ];
  // What questions are made of, whatever they ask.
  const SMALL = new Set(
    (
      "a about am an and any are as at be but by can could did difference do does for from gb/s get gets give gives " +
      "good has have help how i if in into is it its just like long many me more much my need no normal not of ok on " +
      "only or our per performance same see should show shows so some take takes than that the their them then there " +
      "these they this to too use used uses using vs was we what when where which who why will with would you your"
    ).split(" "),
  );
  const ENOUGH = 0.3; // of what is asked, by weight
  const MOST = 25;
  const AROUND = 110; // characters of an excerpt on either side

  /* The beginning that a word shares with its other forms. */
  const stem = (word) =>
    word.replace(/^(.{4,}?)(?:ing|ed|er|est)$|^(.{3,}?)(?:(?<=s|x|ch|sh)es|(?<![su])s)$/, "$1$2");

  /* A pattern for each word of a query that tells something. */
  function patterns(query) {
    const named = NAMES.reduce((text, [typed], k) => text.replace(typed, ` #${k} `), query.toLowerCase().replace(/_/g, " "));
    const sized = named.replace(/(\d) ([kmgt])(i?)b\b/g, "$1$2$3b");
    const parted = sized.replace(/\b[a-z]+(?:-[a-z]+)+\b/g, (word) => word.replace(/-/g, " "));
    const all = new Set(parted.split(/[\s,;?!"“”]+/).map((word) => word.replace(/^[.:(]+|[.:)]+$/g, "")).filter(Boolean));
    const telling = [...all].filter((word) => !SMALL.has(word));
    return (telling.length ? telling : [...all]).map((word) => {
      if (/^#\d+$/.test(word)) return NAMES[word.slice(1)][1];
      const size = word.match(/^(\d+)([kmgt])i?b?$/);
      if (size) return `${size[1]} ?${size[2]}`;
      return stem(word).replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/-/g, "[ -]?");
    });
  }

  const starting = (pattern, flags) => new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})`, flags);
  const inOrder = (words) => words.map((word) => `(?:${word})`).join("\\p{L}*[\\s-]+");
  const sum = (values) => values.reduce((total, one) => total + one, 0);

  function weight(page, title) {
    if (title === "Exercises" || title === "All chapters") return 0.7;
    if (page.startsWith("notebooks/")) return 1;
    return /claims|errata|references/.test(page) ? 0.3 : 0.8;
  }

  /* How much of a word a section has: most in its title, in its text by how often, least in its page's title. */
  function share(word, [, of, , title, text]) {
    if (word.test(title)) return 1;
    const times = text.split(word).length - 1;
    if (times) return 0.4 + (0.4 * times) / (times + 2);
    return word.test(of) ? 0.4 : 0;
  }

  /* The sections that have most of what is asked: a word weighs the more, the fewer sections have it. */
  function find(query) {
    const words = patterns(query);
    const phrase = starting(inOrder(words), "iu");
    const shares = words.map((word) => SECTIONS.map((section) => share(starting(word, "iu"), section)));
    const rarity = shares.map((one, k) => {
      const having = sum(one.map((part) => (part ? 1 : 0)));
      return having ? Math.log(1 + SECTIONS.length / having) * (/^\d/.test(words[k]) ? 0.5 : 1) : 0;
    });
    const asked = sum(rarity);
    return SECTIONS.map(([page, of, anchor, title, text], i) => {
      const met = sum(rarity.filter((_, k) => shares[k][i])) / asked;
      const own = shares.some((one) => one[i] > 0.4);
      const exact = phrase.test(title) ? 0.5 + (0.5 * title.match(phrase)[0].length) / title.length : phrase.test(text) ? 0.25 : 0;
      const score = weight(page, title) * (met * (sum(rarity.map((one, k) => one * shares[k][i])) / asked) + exact);
      return { page, of, anchor, title, text, score: own && met >= ENOUGH ? score : 0 };
    })
      .filter((one) => one.score)
      .sort((a, b) => b.score - a.score)
      .slice(0, MOST);
  }

  /* The part of the text with most of the words, which are marked. */
  function excerpt(text, query) {
    const words = patterns(query);
    const each = words.map((word) => starting(word, "iu"));
    const any = starting(words.join("|"), "giu");
    const from = [...text.matchAll(any)].map((match) => (match.index <= AROUND ? 0 : text.indexOf(" ", match.index - AROUND) + 1));
    const cut = (start) => {
      const last = text.indexOf(" ", start + 3 * AROUND);
      return last < 0 ? text.slice(start) : text.slice(start, last);
    };
    const rich = (start) => each.filter((word) => word.test(cut(start))).length;
    const start = from.reduce((best, one) => (rich(one) > rich(best) ? one : best), from[0] ?? 0);
    const shown = cut(start);
    const line = document.createElement("p");
    line.className = "context";
    if (start) line.append("… ");
    let done = 0;
    for (const match of shown.matchAll(any)) {
      const mark = document.createElement("mark");
      mark.textContent = match[0];
      line.append(shown.slice(done, match.index), mark);
      done = match.index + match[0].length;
    }
    line.append(shown.slice(done), start + shown.length < text.length ? " …" : "");
    return line;
  }

  Search.query = (query) => {
    const results = find(query);
    Search.stopPulse();
    Search.title.textContent = "Search results";
    const number = results.length === MOST ? `The nearest ${MOST} sections` : `${results.length} section${results.length === 1 ? "" : "s"}`;
    Search.status.textContent = results.length ? `${number} for “${query}”` : `Nothing is found for “${query}”.`;
    for (const one of results) {
      const item = Search.output.appendChild(document.createElement("li"));
      const link = item.appendChild(document.createElement("a"));
      link.href = `${one.page}.html#${one.anchor}`;
      link.textContent = one.title;
      if (one.title !== one.of) item.append(` in ${one.of}`);
      item.append(excerpt(one.text, query));
    }
  };
})();
