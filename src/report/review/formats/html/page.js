"use strict";
(() => {
  const cards = [...document.querySelectorAll(".card")];
  const buttons = [...document.querySelectorAll("nav button")];
  const search = document.querySelector("nav input");
  const none = document.querySelector(".none");
  const units = [...document.querySelectorAll(".unit")];
  let filter = "all";
  let at = -1;

  const shown = () => cards.filter((card) => !card.hidden);

  function apply() {
    const words = search.value.toLowerCase();
    for (const card of cards) {
      const fits = filter === "all" || (filter === "danger" ? card.dataset.danger === "true" : card.dataset.action === filter);
      const text = (card.closest(".unit")?.dataset.unit ?? "") + " " + card.textContent;
      card.hidden = !(fits && (words === "" || text.toLowerCase().includes(words)));
    }
    for (const unit of units) {
      const named = filter === "all" && unit.dataset.unit.toLowerCase().includes(words);
      unit.hidden = !named && unit.querySelector(".card:not([hidden])") === null;
    }
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.filter === filter));
    none.hidden = cards.length === 0 || shown().length > 0;
    at = -1;
  }

  function walk(step) {
    const list = shown();
    if (list.length === 0) return;
    at = Math.min(Math.max(at + step, 0), list.length - 1);
    for (const card of cards) card.classList.toggle("at", card === list[at]);
    list[at].scrollIntoView({ block: "nearest" });
    list[at].querySelector("summary").focus({ preventScroll: true });
  }

  for (const button of buttons) {
    button.addEventListener("click", () => {
      filter = button.dataset.filter;
      apply();
    });
  }
  search.addEventListener("input", apply);
  document.addEventListener("keydown", (event) => {
    if (event.target === search) {
      if (event.key === "Escape") search.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const does = {
      j: () => walk(1),
      k: () => walk(-1),
      f: () => buttons[(buttons.findIndex((button) => button.dataset.filter === filter) + 1) % buttons.length].click(),
      "/": () => search.focus(),
    }[event.key];
    if (does) {
      event.preventDefault();
      does();
    }
  });

  function open(target) {
    for (let card = target?.closest("details"); card; card = card.parentElement.closest("details")) card.open = true;
  }
  for (const link of document.querySelectorAll(".card a")) {
    link.addEventListener("click", () => open(document.getElementById(decodeURIComponent(link.hash.slice(1)))));
  }

  const nodes = [...document.querySelectorAll(".map [data-node]")];
  const paths = [...document.querySelectorAll(".map path")];
  function reach(from) {
    const seen = new Set([from]);
    for (let grown = true; grown; ) {
      grown = false;
      for (const path of paths) {
        if (seen.has(path.dataset.from) && !seen.has(path.dataset.to)) {
          seen.add(path.dataset.to);
          grown = true;
        }
      }
    }
    return seen;
  }
  function light(seen) {
    for (const node of nodes) node.classList.toggle("dim", seen !== null && !seen.has(node.dataset.node));
    for (const path of paths) path.classList.toggle("lit", seen !== null && seen.has(path.dataset.from) && seen.has(path.dataset.to));
  }
  for (const node of nodes) {
    node.addEventListener("mouseenter", () => light(reach(node.dataset.node)));
    node.addEventListener("focus", () => light(reach(node.dataset.node)));
    node.addEventListener("mouseleave", () => light(null));
    node.addEventListener("blur", () => light(null));
    node.addEventListener("click", () => {
      if (node.tagName !== "g") open(document.getElementById(decodeURIComponent(node.getAttribute("href").slice(1))));
    });
  }
})();
