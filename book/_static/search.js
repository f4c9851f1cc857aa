/* The search page by section: it takes a question, rare words and titles count most, an excerpt says where.
   SECTIONS is written by the book's extension: [page, its title, anchor, title, text]. */
(() => {
  "use strict";
  // One thing under several names: what readers type, and what finds it.
  const NAMES = [
    [/\ball[ -]?reduces?\b/g, "all[ _-]?reduce"],
    [/\ball[ -]?gathers?\b/g, "all[ _-]?gather"],
    [/\ball[ -]?(?:to|2)[ -]?all[sv]?\b|\ba2a\b/g, "all[ _-]?to[ _-]?all"],
    [/\breduce[ -]?scatters?\b/g, "reduce[ _-]?scatter"],
    [/\bpoint[ -]?to[ -]?point\b|\bp2p\b/g, "point[ -]?to[ -]?point|p2p"],
    [/\bbus ?(?:bw|bandwidth)\b/g, "bus(?:bw| bandwidth)"],
    [/\balg ?(?:bw|bandwidth)\b/g, "alg(?:bw|orithm bandwidth)"],
    [/\bdbt\b/g, "double binary tree"],
    [
      /\b(?:fail(?:ed|ing)|broken|dead|lost|missing) (?:links?|cables?|cards?|nics?|wires?)\b|\b(?:links?|cables?|cards?|nics?|wires?) (?:fail\w*|(?:is |are )?(?:down|broken|dead|lost))\b/g,
      "(?:failed|lost) (?:card|link)|link[^.]* fails",
    ],
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
    [/\b(?:watchdog|time(?:s|d)? ?outs?|hangs?|hung|stuck|deadlock(?:s|ed)?)\b/g, "hangs?\\b|timeout"],
    [/\b\d+:1(?!\d)/g, "to (?:one|1)\\b"],
    [/\b(?:congest\w+|noisy neighbou?rs?)\b/g, "congest|contention|shared? (?:up)?link"],
    [/\b(?:(?:optimal|best) )?(?:chunk|segment)(?:s|ing| sizes?)?\b/g, "chunk|segment"],
    [/\bover[ -]?subscri\w+/g, "oversubscri"],
    [/\b(?:multi[ -]?rails?|rails?[ -](?:optimi[sz]ed|only|aligned))\b/g, "rails?\\b"],
    [/\bin[ -]network\b/g, "in[ -](?:the )?network"],
    [/\b(?:folded )?clos\b/g, "clos\\b|fat-?tree|leaf-spine"],
    [/\b(?:(?:link|wire) (?:speed|rate)|line rate)s?\b/g, "wire|line rate|link speed"],
    [/\b(?:higher than|exceeds?|greater than)\b/g, "more than|above|exceed"],
    [/\bn[ _](?:alpha|α)/g, "n_(?:alpha|α)"],
    [/\bn[ _](?:beta|β)/g, "n_(?:beta|β)"],
    [/\balpha\b|α/g, "alpha|α"],
    [/\bbeta\b|β/g, "beta|β"],
    [/\b(?:formulas?|equations?|factors?)\b/g, "formula|factor"],
    [/\b(?:trust\w*|accura\w+|limitations?)\b/g, "trust|accura|(?:as|is) predicted|leaves? out"],
    [/\bvalid(?:ates?|ated|ation|ity)?\b/g, "valid|proofs?\\b|prove[sd]?\\b"],
    ...[[2, "two"], [3, "three"], [4, "four"], [8, "eight"]].map(([digit, word]) => [
      new RegExp(`(?<![\\w#./-])(?:${digit}|${word})(?![\\w(/.-]| [kmgt]i?b\\b)`, "g"),
      `${digit}\\b|${word}`,
    ]),
  ];
  // What questions are made of, whatever they ask.
  const SMALL = new Set(
    (
      "a about am an and animation any are as at be big but by can could did difference do does explain explained for from gb/s get gets give gives " +
      "good has have help how i if in into is it its just like long many me more much my need no normal not of ok on " +
      "only or our per performance same see should show shows so some take takes than that the their them then there " +
      "these they this to too tutorial use used uses using vs was we what when where which who why will with work works would you your"
    ).split(" "),
  );
  const ENOUGH = 0.3; // of what is asked, by weight
  const MOST = 20;
  const CLAIMS = 5; // at least, if there are, after all others
  const AROUND = 110; // characters of an excerpt on either side

  /* The beginning that a word shares with its other forms. */
  const stem = (word) =>
    word.replace(/^(.{4,}?)(?:ing|ed|er|est)$|^(.{3,}?)(?:(?<=s|x|ch|sh)es|(?<![su])s)$/, "$1$2");

  const starting = (pattern, flags) => new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})`, flags);
  const literal = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const known = (pattern) => {
    const shape = starting(pattern, "iu");
    return SECTIONS.some((section) => section.slice(3).some((text) => shape.test(text)));
  };
  const isNamed = (text) => NAMES.some(([typed]) => text.replace(typed, "") === "");

  /* A pattern for each word of a query that tells something. */
  function patterns(query) {
    // A name in code, such as from_steps: whole, if the book has it and nothing else is asked; in a question its parts.
    const apart = query.replace(/\b[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b/g, (word) => {
      const spaced = word.toLowerCase().replace(/_/g, " ");
      const alone = word === query.trim() && !/[a-z][A-Z]|_[A-Z][a-z]/.test(word) && !isNamed(spaced);
      return alone && known(`${word}(?![\\p{L}\\p{N}_])`) ? word : spaced;
    });
    const named = NAMES.reduce((text, [typed], k) => text.replace(typed, ` #${k} `), apart.toLowerCase());
    const sized = named.replace(/(\d) ([kmgt])(i?)b\b/g, "$1$2$3b");
    const parted = sized.replace(/\b[a-z]{2,}(?:-[a-z]{2,})+\b(?!-)/g, (word) => word.replace(/-/g, " "));
    const all = new Set(parted.split(/[\s,;?!"“”]+/).map((word) => word.replace(/^[.:(]+|[.:)]+$/g, "")).filter(Boolean));
    const telling = [...all].filter((word) => !SMALL.has(word));
    return (telling.length ? telling : [...all]).map((word) => {
      if (/^#\d+$/.test(word)) return NAMES[word.slice(1)][1];
      const size = word.match(/^(\d+)([kmgt])i?b?$/);
      if (size) return `${size[1]} ?${size[2]}`;
      if (/^[a-z]{1,4}(?:-[a-z])?$/.test(word)) return `${word.replace(/-(.)/, "(?:[ -]?$1)?")}(?:e?s|e?d|er|ing)?(?!\\p{L})`;
      return literal(stem(word)).replace(/-/g, "[ -]?");
    });
  }

  /* How many letters are missing, too many, wrong or exchanged (Damerau and Levenshtein). */
  function distance(one, other) {
    const rows = [Array.from({ length: other.length + 1 }, (_, j) => j)];
    for (let i = 1; i <= one.length; i += 1) {
      const row = [i];
      for (let j = 1; j <= other.length; j += 1) {
        const differs = one[i - 1] === other[j - 1] ? 0 : 1;
        const exchanged = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
        const least = Math.min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + differs);
        row.push(exchanged ? Math.min(least, rows[i - 2][j - 2] + 1) : least);
      }
      rows.push(row);
    }
    return rows[one.length][other.length];
  }

  /* The word of the book that is nearest to one that it does not have: one letter off, or two where there are many. */
  function nearest(word) {
    const most = word.length < 8 ? 1 : 2;
    const text = `allreduce allgather alltoall ${SECTIONS.map((section) => section.slice(3).join(" ")).join(" ")}`;
    const times = new Map();
    for (const each of text.toLowerCase().match(/\p{L}{5,}(?:-\p{L}+)*/gu)) times.set(each, (times.get(each) ?? 0) + 1);
    const near = [...times.keys()]
      .filter((each) => Math.abs(each.length - word.length) <= most)
      .map((each) => [distance(word, each), -times.get(each), each])
      .filter(([letters]) => letters <= most);
    return near.sort((a, b) => a[0] - b[0] || a[1] - b[1])[0]?.[2];
  }

  /* The query with the book's spellings, and what is to be said about it. */
  function spelled(query) {
    const notes = [];
    for (const [name] of query.matchAll(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g))
      if (!known(name)) notes.push(`${name} is not in the book.`);
    const unnamed = NAMES.reduce((text, [typed]) => text.replace(typed, " "), query.toLowerCase());
    const mended = query.replace(/(?<![\w-])[A-Za-z][A-Za-z-]{3,}[A-Za-z](?![\w-])/g, (word) => {
      if (!unnamed.includes(word.toLowerCase()) || SMALL.has(word.toLowerCase()) || patterns(word).some(known)) return word;
      const other = nearest(word.toLowerCase());
      if (other) notes.push(`Nothing for “${word}”; shown: “${other}”.`);
      return other ?? word;
    });
    return [mended, notes];
  }

  const inOrder = (words) => words.map((word) => `(?:${word})`).join("\\p{L}*[\\s_-]+");
  const isClaim = (one) => /^E-\d/.test(one.title);
  const sum = (values) => values.reduce((total, one) => total + one, 0);

  function weight(page, title) {
    if (title === "Exercises" || title === "All chapters") return 0.7;
    if (page.startsWith("notebooks/")) return 1;
    return /claims|errata|references/.test(page) ? 0.3 : 0.8;
  }

  /* How much of a word a section has: most in its title, in its text by how often, less in its code and its page's title. */
  function share(word, [, of, , title, text, code]) {
    if (word.test(title)) return 1;
    const times = text.split(word).length - 1;
    if (times) return 0.4 + (0.4 * times) / (times + 2);
    return word.test(code) ? 0.41 : word.test(of) ? 0.4 : 0;
  }

  /* The sections that have most of what is asked: a word weighs the more, the fewer sections have it. */
  function find(words) {
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
      .sort((a, b) => b.score - a.score);
  }

  /* The part of the text with most of the words, which are marked. */
  function excerpt(text, words) {
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

  function show(results, words, list) {
    for (const one of results) {
      const item = list.appendChild(document.createElement("li"));
      const link = item.appendChild(document.createElement("a"));
      link.href = `${one.page}.html#${one.anchor}`;
      link.textContent = one.title;
      if (one.title !== one.of) item.append(` in ${one.of}`);
      item.append(excerpt(one.text, words));
    }
  }

  Search.query = (query) => {
    const [mended, notes] = spelled(query);
    const words = patterns(mended);
    const all = find(words);
    const named = all.filter((one) => !isClaim(one) || words.some((word) => starting(word, "iu").test(one.title)));
    const first = named.slice(0, MOST);
    const claims = all.filter((one) => !named.includes(one)).slice(0, Math.max(CLAIMS, MOST - first.length));
    Search.stopPulse();
    Search.title.textContent = "Search results";
    const number = first.length + claims.length;
    const counted = number >= MOST ? `The nearest ${number} sections` : `${number} section${number === 1 ? "" : "s"}`;
    notes.push(number ? `${counted} for “${query}”` : `Nothing is found for “${query}”.`);
    Search.status.textContent = notes.join(" ");
    show(first, words, Search.output);
    if (!claims.length) return;
    const line = document.createElement("p");
    line.textContent = "In the ledger of claims:";
    const list = document.createElement("ul");
    list.className = "search";
    show(claims, words, list);
    Search.output.after(line, list);
  };
})();
