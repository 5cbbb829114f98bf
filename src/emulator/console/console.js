// The console page: it shows what the emulator's own calls say, and makes the changes that they offer.
// Whatever comes from there is written as text and never as markup: names are made by strangers.
"use strict";

const OBJECTS = 50;
const REQUESTS = 200;
const EVERY = 1000;

const state = { kind: null, offset: 0, find: "", logged: null, editing: null, faults: { seed: 0, rules: [] } };

const at = (id) => document.getElementById(id);

/** Makes an element; children that are texts become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sends one of the emulator's own calls; returns its data, or throws what it says. */
async function call(method, name, body) {
  const options = { method, headers: { "Content-Type": "application/json" } };
  if (body !== undefined) options.body = JSON.stringify(body);
  const response = await fetch(`/_emulator/${name}`, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message ?? `status ${response.status}`);
  return answer.data;
}

function tell(problem, done = "") {
  write(at("problem"), problem);
  at("problem").hidden = problem === "";
  write(at("done"), done);
}

/** Does what someone asked for, says how it went, and looks again. */
async function act(done, change) {
  try {
    await change();
    tell("", done);
  } catch (error) {
    tell(error.message);
  }
  await look();
}

/** Brings the children of an element in line with items, and keeps those that stay: focus does, too. */
function keep(parent, items, key, build, fill) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let child = old.get(name);
    old.delete(name);
    if (child === undefined) {
      child = build(item);
      child.dataset.key = name;
    }
    fill(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const child of old.values()) child.remove();
}

const cells = (count) => () => make("tr", {}, ...Array.from({ length: count }, () => make("td")));

const GOOD = ["active", "running", "available", "in_use", "live", "completed", "succeeded"];
const BAD = ["failed", "suspended", "warning"];

function tone(word) {
  if (GOOD.includes(word)) return "good";
  return BAD.includes(word) ? "bad" : "plain";
}

const time = (text) => String(text).replace("T", " ").replace(/(\.\d+)?Z$/, "");

/** Money as it is shown; the exact amounts stay with the emulator. */
const usd = (amount, digits) => `${Number(amount).toFixed(digits)} USD`;

/** What apps cost this month, the cap, and the notice that their owners got of it. */
function spend(bill) {
  const cap = bill.app_cap === null ? "" : ` of ${usd(bill.app_cap, 2)}`;
  const notice = bill.notice === null ? "" : ` (notice: ${bill.notice} %)`;
  return usd(bill.app_spend, 2) + cap + notice;
}

function showAccount(stats) {
  write(at("now"), `${time(stats.clock.now)} UTC`);
  write(at("speed"), `${stats.clock.speed}×`);
  write(at("balance"), usd(stats.bill.balance, 2));
  write(at("rate"), usd(stats.bill.rate_per_hour, 4));
  write(at("accrued"), usd(stats.bill.accrued, 4));
  write(at("spend"), spend(stats.bill));
  write(at("total"), String(stats.requests));
}

function showKinds(kinds) {
  state.kind ??= kinds.reduce((most, entry) => (entry.total > most.total ? entry : most)).kind;
  const build = (entry) => {
    const button = make("button", { type: "button" }, make("span", {}, entry.kind), make("span"));
    button.addEventListener("click", () => {
      Object.assign(state, { kind: entry.kind, offset: 0 });
      look();
    });
    return make("li", {}, button);
  };
  keep(at("kinds"), kinds, (entry) => entry.kind, build, (item, entry) => {
    const button = item.firstElementChild;
    write(button.lastElementChild, String(entry.total));
    if (entry.kind === state.kind) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  });
}

function buildObject(object) {
  const row = cells(6)();
  const button = make("button", { type: "button" });
  const kind = state.kind;
  button.addEventListener("click", () => act("", () => edit(kind, object.id)));
  row.firstElementChild.append(button);
  return row;
}

function fillObject(row, object) {
  const [name, status, hour, month, billed, created] = row.children;
  write(name.firstElementChild, object.name ?? object.id);
  name.firstElementChild.setAttribute("aria-label", `Edit ${object.name ?? object.id}`);
  write(status, object.status);
  status.dataset.tone = tone(object.status);
  write(hour, object.price_per_hour ?? "");
  write(month, object.price_per_month ?? "");
  write(billed, object.billed ?? "");
  write(created, object.created_at === null ? "" : time(object.created_at));
}

function showObjects({ objects, total }) {
  write(at("objects-title"), `Objects: ${state.kind}`);
  keep(at("rows"), objects, (object) => `${state.kind}/${object.id}`, buildObject, fillObject);
  const last = state.offset + objects.length;
  write(at("range"), total === 0 ? "" : `${state.offset + 1}–${last} of ${total}`);
  at("previous").disabled = state.offset === 0;
  at("next").disabled = last >= total;
  at("empty").hidden = objects.length > 0;
}

function showFaults(faults) {
  state.faults = faults;
  const build = (rule) => {
    const text = make("code");
    const button = make("button", { type: "button" }, "Remove");
    button.addEventListener("click", () => {
      const index = [...at("rules").children].indexOf(text.parentElement);
      setRules("Fault removed.", state.faults.rules.filter((_, other) => other !== index));
    });
    button.setAttribute("aria-label", `Remove the fault ${rule}`);
    return make("li", {}, text, button);
  };
  const rules = faults.rules.map((rule, index) => ({ rule, key: `${index} ${rule}` }));
  keep(at("rules"), rules, (item) => item.key, ({ rule }) => build(rule), (item, { rule }) => {
    write(item.firstElementChild, rule);
  });
}

const setRules = (done, rules) =>
  act(done, () => call("POST", "faults", { seed: state.faults.seed, rules }));

async function showRequests(total) {
  const first = Math.max(0, total - REQUESTS);
  const since = Math.max(state.logged ?? 0, first);
  if (at("pause").checked || state.logged === total) return;
  // A number that went back is another emulator at the same address.
  const again = state.logged !== null && state.logged > total;
  const { requests } = await call("GET", `requests?since=${again ? first : since}`);
  if (again) at("log").replaceChildren();
  for (const request of requests) {
    const { seq, method, path, status } = request;
    const texts = [String(seq), time(request.time), method, path, status === 0 ? "reset" : String(status)];
    const row = make("tr", {}, ...texts.map((text) => make("td", {}, text)));
    if (status === 0 || status >= 400) row.lastElementChild.dataset.tone = "bad";
    at("log").prepend(row);
    state.logged = seq;
  }
  while (at("log").children.length > REQUESTS) at("log").lastElementChild.remove();
}

/** Looks at everything once. A look that a later one overtook shows nothing. */
let looks = 0;
async function look() {
  looks += 1;
  const mine = looks;
  try {
    const [stats, { kinds }, faults] = await Promise.all([
      call("GET", "stats"), call("GET", "objects"), call("GET", "faults"),
    ]);
    if (mine !== looks) return;
    showAccount(stats);
    showKinds(kinds);
    showFaults(faults);
    const query = new URLSearchParams({ kind: state.kind, offset: state.offset, limit: OBJECTS, find: state.find });
    const found = await call("GET", `objects?${query}`);
    if (mine !== looks) return;
    // The page may lie behind the end by now.
    if (found.objects.length === 0 && state.offset > 0) state.offset = 0;
    showObjects(found);
    await showRequests(stats.requests);
    if (at("problem").dataset.lost) {
      delete at("problem").dataset.lost;
      tell("");
    }
  } catch (error) {
    at("problem").dataset.lost = "true";
    tell(`The emulator does not answer: ${error.message}`);
  }
}

async function watch() {
  if (!document.hidden) await look();
  setTimeout(watch, EVERY);
}

/** Makes the control of a field, with a way to read it: texts as they are, flags, and JSON for the rest. */
function control(name, value) {
  const id = `field-${name}`;
  if (typeof value === "boolean") {
    const input = make("input", { id, type: "checkbox" });
    input.checked = value;
    return { input, read: () => input.checked };
  }
  const isText = typeof value === "string";
  const text = isText ? value : JSON.stringify(value, null, typeof value === "object" ? 1 : 0);
  const lines = text.split("\n").length;
  const input = make(lines > 1 ? "textarea" : "input", { id, autocomplete: "off", spellcheck: "false" });
  if (lines > 1) input.setAttribute("rows", String(Math.min(lines, 12)));
  input.value = text;
  const read = () => {
    if (isText) return input.value;
    try {
      return JSON.parse(input.value);
    } catch {
      throw new Error(`${name} must be JSON, such as ${text}`);
    }
  };
  return { input, read };
}

async function edit(kind, id) {
  const { object, fields } = await call("GET", `objects?${new URLSearchParams({ kind, id })}`);
  const controls = Object.entries(fields).map(([name, value]) => ({ name, value, ...control(name, value) }));
  state.editing = { kind, id, controls };
  write(at("edit-title"), `${kind} ${object.name ?? ""}`);
  write(at("edit-id"), id);
  write(at("shown"), JSON.stringify(object.shown, null, 2));
  at("edit-problem").hidden = true;
  at("fields").replaceChildren(
    ...controls.flatMap(({ name, input }) => [make("label", { for: input.id }, name), input]),
  );
  at("edit").showModal();
}

async function change(event) {
  event.preventDefault();
  const { kind, id, controls } = state.editing;
  try {
    const set = {};
    for (const { name, value, read } of controls) {
      const wanted = read();
      if (JSON.stringify(wanted) !== JSON.stringify(value)) set[name] = wanted;
    }
    await call("POST", "mutate", { kind, id, set });
    at("edit").close();
    const names = Object.keys(set);
    tell("", names.length > 0 ? `Changed ${names.join(", ")} of ${kind} ${id}.` : "Nothing was changed.");
  } catch (error) {
    write(at("edit-problem"), error.message);
    at("edit-problem").hidden = false;
  }
  await look();
}

/** Runs when a form is sent, with its values by name. */
function on(form, run) {
  at(form).addEventListener("submit", (event) => {
    event.preventDefault();
    run(Object.fromEntries(new FormData(event.target)));
  });
}

on("advance", ({ seconds }) =>
  act("The clock moved ahead.", () => call("POST", "clock", { advance_seconds: Number(seconds) })));
on("set-speed", ({ speed }) => act("Speed set.", () => call("POST", "clock", { speed: Number(speed) })));
on("fault", ({ method, path, fault, amount }) =>
  setRules("Fault added.", [...state.faults.rules, `${method} ${path}=${fault}:${amount}`]));
at("edit-form").addEventListener("submit", change);
at("cancel").addEventListener("click", () => at("edit").close());
at("find").addEventListener("input", (event) => {
  Object.assign(state, { find: event.target.value, offset: 0 });
  look();
});
at("previous").addEventListener("click", () => {
  state.offset = Math.max(0, state.offset - OBJECTS);
  look();
});
at("next").addEventListener("click", () => {
  state.offset += OBJECTS;
  look();
});
at("reset").addEventListener("click", () => {
  at("sure").returnValue = "no";
  at("sure").showModal();
});
at("sure").addEventListener("close", () => {
  if (at("sure").returnValue === "yes") act("The cloud is empty.", () => call("POST", "reset"));
});
watch();
