// The search, and buttons that copy a block's commands. Without this script all pages can be read.
"use strict";
(() => {
  const root = document.documentElement.dataset.root;
  const field = document.getElementById("search");
  const list = document.getElementById("suggestions");
  let chosen = -1;

  // The index is loaded with the first search: pages stay small.
  let loading = null;
  const load = () => {
    loading ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = `${root}search-index.js`;
      script.onload = () => done(window.steadSearch);
      script.onerror = failed;
      document.head.append(script);
    });
    return loading;
  };

  // The same words, stems and sums as `src/guide/search.rs`; a test compares the results.
  const endings = [
    ["ings", 4], ["ions", 4], ["ing", 4], ["ion", 4], ["ies", 3], ["ied", 3], ["ed", 4], ["es", 4], ["s", 3],
    ["e", 3], ["y", 3],
  ];
  const stem = (word) => {
    if (!/^[a-z]+$/.test(word)) return word;
    for (const [ending, least] of endings) {
      const rest = word.slice(0, -ending.length);
      if (word.endsWith(ending) && rest.length >= least && !(ending === "s" && rest.endsWith("s"))) return rest;
    }
    return word;
  };
  const split = (text) => {
    const words = [];
    for (const word of text.toLowerCase().split(/[^\p{L}\p{N}_]+/u)) {
      const bare = word.replace(/^_+|_+$/g, "");
      if (bare) words.push(bare);
      if (bare.includes("_")) words.push(...bare.split("_").filter(Boolean));
    }
    return words;
  };
  const scoresOf = (index, term) => {
    const best = new Map();
    const add = (flat, share) => {
      for (let at = 0; at < flat.length; at += 2) {
        const score = share === 1 ? flat[at + 1] : Math.floor(flat[at + 1] * share);
        best.set(flat[at], Math.max(best.get(flat[at]) ?? 0, score));
      }
    };
    if (Object.hasOwn(index.terms, term)) {
      add(index.terms[term], 1);
    } else if ([...term].length >= 3) {
      for (const known of Object.keys(index.terms)) if (known.startsWith(term)) add(index.terms[known], 0.5);
    }
    return best;
  };
  const search = (index, query) => {
    const words = split(query);
    const telling = words.filter((word) => !index.stopWords.includes(word));
    const terms = [...new Set((telling.length ? telling : words).map(stem))];
    const found = new Map();
    for (const term of terms) {
      for (const [page, score] of scoresOf(index, term)) {
        const [sum, count] = found.get(page) ?? [0, 0];
        found.set(page, [sum + score, count + 1]);
      }
    }
    return [...found]
      .map(([page, [sum, count]]) => ({ page, score: sum * count }))
      .sort((a, b) => b.score - a.score || a.page - b.page)
      .map(({ page }) => {
        const [address, title, summary] = index.pages[page];
        return { address, title, summary, href: `${root}${address}.html` };
      });
  };
  window.steadFind = async (query) => search(await load(), query);

  const line = (result) => {
    const title = document.createElement("span");
    title.textContent = result.title;
    const summary = document.createElement("span");
    summary.className = "summary";
    summary.textContent = result.summary;
    return [title, summary];
  };
  const close = () => {
    list.hidden = true;
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const choose = (at) => {
    const options = list.children;
    if (!options.length) return;
    chosen = (at + options.length) % options.length;
    [...options].forEach((option, number) => option.setAttribute("aria-selected", number === chosen));
    field.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({ block: "nearest" });
  };
  field.addEventListener("input", async () => {
    const query = field.value;
    const results = query.trim() ? (await window.steadFind(query)).slice(0, 8) : [];
    if (query !== field.value) return;
    list.replaceChildren(...results.map((result, number) => {
      const option = document.createElement("li");
      option.id = `suggestion-${number}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.href = result.href;
      option.append(...line(result));
      option.addEventListener("mousedown", () => { location.href = result.href; });
      return option;
    }));
    chosen = -1;
    list.hidden = results.length === 0;
    field.setAttribute("aria-expanded", String(results.length > 0));
    field.removeAttribute("aria-activedescendant");
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); choose(chosen + 1); }
    if (event.key === "ArrowUp") { event.preventDefault(); choose(chosen < 0 ? -1 : chosen - 1); }
    if (event.key === "Escape") close();
    if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      location.href = list.children[chosen].dataset.href;
    }
  });
  field.addEventListener("blur", close);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    }
  });

  const results = document.getElementById("search-results");
  if (results) {
    const query = new URLSearchParams(location.search).get("q") ?? "";
    field.value = query;
    const status = document.getElementById("search-status");
    if (query.trim()) {
      window.steadFind(query).then((found) => {
        status.textContent = found.length ? `${found.length} pages for “${query}”.` : `No page for “${query}”.`;
        results.replaceChildren(...found.slice(0, 30).map((result) => {
          const item = document.createElement("li");
          const link = document.createElement("a");
          const [title, summary] = line(result);
          link.href = result.href;
          link.append(title);
          item.append(link, summary);
          return item;
        }));
      }, () => { status.textContent = "The search index could not be loaded."; });
    }
  }

  for (const block of document.querySelectorAll("pre[data-language]")) {
    if (!navigator.clipboard || !/^(console|yaml|kdl|toml|json)$/.test(block.dataset.language)) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const commands = [...block.querySelectorAll(".command")].map((line) => line.textContent.replace(/^[$>] /, ""));
      await navigator.clipboard.writeText(commands.length ? commands.join("\n") : block.textContent);
      button.textContent = "Copied";
    });
    block.parentElement.append(button);
  }
})();
