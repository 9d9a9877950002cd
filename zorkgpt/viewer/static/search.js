// Search over all episodes, with filters by event.
import { button, count, el, shorten, shown } from "./dom.js";
import { ask, exported } from "./api.js";
import { announce, attempt, finish, moment, now, openTurn, parted, roomName, run, view } from "./run.js";
import { searchExported } from "./search_exported.js";

export const EVENTS = [["score", "Score"], ["death", "Death"], ["refusal", "Rejected action"], ["learned", "Learned"],
  ["contradiction", "Contradiction"], ["disproved", "Disproved"], ["error", "Model error"]];
const KINDS = { turn: "Turn", memory: "Memory", prompt: "Prompt" };
const PAUSE_MS = 60;

let field;
let chips;
let standing;
let list;
let section;
let timer = null;
let found = { asked: "", hits: [], rows: [], begun: 0 };
let lookUps = 0;
// The number of results that the user asked to see for `words`. Kept when the run continues.
let words = "";
let wanted = 0;

export function startSearch(element) {
  section = element.closest("section");
  finish(highlight);
  field = el("input", { type: "search", id: "find", maxlength: 200, placeholder: "Search all episodes", "aria-label": "Search all episodes", on: {
    input: () => { clearTimeout(timer); timer = setTimeout(typed, PAUSE_MS); },
    keydown: (event) => { if (event.key === "Enter") { typed(); toHit(event.shiftKey ? -1 : 1); } },
  } });
  chips = el("div", { class: "events", role: "group", "aria-label": "Filters" },
    EVENTS.map(([id, name]) => button(name, () => toggle(id), { class: "small", "data-event": id })));
  standing = el("p", { class: "quiet", role: "status" });
  list = el("ol", { class: "hits" });
  element.append(el("div", { class: "asking" }, field,
    button("‹", () => toHit(-1), { class: "round", "aria-label": "Previous result", title: "Previous (Shift+N)" }),
    button("›", () => toHit(1), { class: "round", "aria-label": "Next result", title: "Next (N)" }),
    button("✕", closeSearch, { class: "round", "aria-label": "Close search", title: "Close" })), chips, standing, list);
}

export function openSearch() {
  Object.assign(view, { screen: "turn", find: view.find ?? "", panel: "found" });
  announce();
  // The panel is rendered with the next frame.
  requestAnimationFrame(() => requestAnimationFrame(() => field.focus()));
}

export function closeSearch() {
  Object.assign(view, { find: null, only: [], panel: view.panel === "found" ? "transcript" : view.panel });
  announce();
}

function typed() {
  clearTimeout(timer);
  view.find = field.value;
  announce();
}

function toggle(id) {
  view.only = view.only.includes(id) ? view.only.filter((one) => one !== id) : EVENTS.map(([name]) => name).filter((name) => name === id || view.only.includes(name));
  announce();
}

export async function updateSearch() {
  const open = view.find !== null;
  section.hidden = !open;
  document.body.classList.toggle("searching", open);
  if (!open) return;
  if (document.activeElement !== field && field.value !== view.find) field.value = view.find;
  for (const chip of chips.children) chip.setAttribute("aria-pressed", view.only.includes(chip.dataset.event));
  const version = [...run.episodes.values()].map((row) => `${row.generation}.${row.count}`).join();
  if (words !== sought()) [words, wanted] = [sought(), 0];
  const asked = JSON.stringify([words, version, run.memory]);
  if (asked !== found.asked && !await lookUp(asked)) return;
  mark();
}

function sought() {
  return JSON.stringify([view.find, view.only]);
}

// Searches and shows the results. Returns false if the search has changed meanwhile or newer results are shown.
async function lookUp(asked) {
  const these = sought();
  const begun = ++lookUps;
  const { hits, rows } = await request(0);
  while (these === sought() && rows.length < Math.min(wanted, hits.length)) {
    const answer = await request(rows.length);
    if (!answer.rows.length) break;
    rows.push(...answer.rows);
  }
  if (these !== sought() || begun < found.begun) return false;
  found = { asked, hits, rows, begun };
  draw();
  return true;
}

function request(start) {
  if (exported) return searchExported(view.find, view.only, start);
  return ask(`search?q=${encodeURIComponent(view.find)}&only=${view.only.join(",")}&from=${start}`);
}

function draw() {
  const asked = view.find.trim() || view.only.length;
  standing.textContent = !asked ? "Enter words or choose a filter." : found.hits.length ? count(found.hits.length, "result") : "No results.";
  list.replaceChildren(...found.rows.map(item));
  if (found.rows.length < found.hits.length) list.append(el("li", {}, button("Show more", () => attempt(more), { class: "small" })));
}

async function more() {
  wanted = found.rows.length + 1;
  if (await lookUp(found.asked)) mark();
}

function item(row) {
  const where = row.turn > 99_999 ? `Episode ${row.episode}, end` : `Episode ${row.episode}, turn ${row.turn}`;
  const words = [shown(row.before), row.match && el("mark", {}, row.match), shown(row.after)];
  return el("li", { "data-at": moment(row.episode, row.turn) }, button(el("span", {}, el("b", {}, where), el("span", { class: "quiet" }, ` ${KINDS[row.kind]}${row.place === undefined ? "" : `, ${shorten(roomName(row.place), 40)}`}`),
    row.title && el("span", { class: row.kind === "turn" ? "action" : "what", dir: "auto" }, shorten(row.title, 120)), el("span", { class: "words", dir: "auto" }, words)), () => attempt(() => openHit(row)), { class: "hit" }));
}

async function openHit(row) {
  const last = run.episodes.get(row.episode)?.last_turn ?? 0;
  await openTurn(row.episode, Math.min(row.turn, last));
  if (row.kind === "memory") Object.assign(view, { place: row.place, tab: "memories", panel: "known" });
  if (row.kind === "prompt") view.panel = "turn";
}

export function toHit(by) {
  const at = now();
  const next = by > 0 ? found.hits.find((one) => one > at) : found.hits.findLast((one) => one < at);
  if (next !== undefined) attempt(() => openTurn(...parted(next)));
  else if (view.find !== null) standing.textContent = by > 0 ? "No more results." : "No earlier results.";
}

function mark() {
  const at = String(now());
  for (const one of list.children) one.toggleAttribute("aria-current", one.dataset.at === at);
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

// Highlights the query in the selected turn without changing its text.
function highlight() {
  if (!CSS.highlights) return;
  const wanted = (view.find ?? "").trim().toLowerCase();
  const ranges = [];
  for (const article of wanted ? document.querySelectorAll("#turns article[aria-current], #memories .memory") : []) {
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && ranges.length < 200; node = walker.nextNode()) {
      for (let at = node.data.toLowerCase().indexOf(wanted); at >= 0 && at + wanted.length <= node.length; at = node.data.toLowerCase().indexOf(wanted, at + wanted.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}
