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
      script.onerror = () => {
        loading = null;
        failed(new Error("the search index could not be loaded"));
      };
      document.head.append(script);
    });
    return loading;
  };

  // The same words, stems and sums as `src/guide/search.rs`; a test compares the results. The index has the constants.
  const stem = (index, word) => {
    if (!/^[a-z]+$/.test(word)) return word;
    for (const [ending, least] of index.endings) {
      const rest = word.slice(0, -ending.length);
      if (word.endsWith(ending) && rest.length >= least && !(ending === "s" && rest.endsWith("s"))) return rest;
    }
    return word;
  };
  const split = (text) => {
    const words = [];
    for (const word of text.toLowerCase().split(/[^\p{Alphabetic}\p{N}_]+/u)) {
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
    } else if ([...term].length >= index.minPrefix) {
      for (const known of Object.keys(index.terms)) if (known.startsWith(term)) add(index.terms[known], index.prefixShare);
    }
    return best;
  };
  const search = (index, query) => {
    const words = split(query);
    const telling = words.filter((word) => !index.stopWords.includes(word));
    const terms = [...new Set((telling.length ? telling : words).map((word) => stem(index, word)))];
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
  const open = () => {
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
  };
  const choose = (at) => {
    const options = list.children;
    if (!options.length) return;
    open();
    chosen = (at + options.length) % options.length;
    [...options].forEach((option, number) => option.setAttribute("aria-selected", number === chosen));
    field.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({ block: "nearest" });
  };
  field.addEventListener("input", async () => {
    const query = field.value;
    const found = query.trim() ? await window.steadFind(query).catch(() => []) : [];
    const results = found.slice(0, 8);
    if (query !== field.value) return;
    list.replaceChildren(...results.map((result, number) => {
      const option = document.createElement("li");
      option.id = `suggestion-${number}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.href = result.href;
      option.append(...line(result));
      // The field keeps the focus, so that the list is still there when the button is released.
      option.addEventListener("mousedown", (event) => event.preventDefault());
      option.addEventListener("click", () => { location.href = result.href; });
      return option;
    }));
    chosen = -1;
    field.removeAttribute("aria-activedescendant");
    if (results.length) open(); else close();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); choose(chosen + 1); }
    if (event.key === "ArrowUp") { event.preventDefault(); choose(chosen < 0 ? -1 : chosen - 1); }
    if (event.key === "Escape" && !list.hidden) {
      event.preventDefault(); // It would also delete the query.
      close();
    }
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
        const count = found.length === 1 ? "1 page" : `${found.length} pages`;
        const shown = found.length > 30 ? `The first 30 of ${count}` : count;
        status.textContent = found.length ? `${shown} for “${query}”.` : `No page for “${query}”.`;
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

  // A block that scrolls sideways is reached by the keyboard; the others are no stops on the way.
  const markScrolling = () => {
    for (const block of document.querySelectorAll("pre, .table")) {
      if (block.scrollWidth > block.clientWidth) {
        block.tabIndex = 0;
        block.setAttribute("role", "group");
      } else {
        block.removeAttribute("tabindex");
        block.removeAttribute("role");
      }
    }
  };
  markScrolling();
  addEventListener("resize", markScrolling);
})();
