// The transcript: only pages of turns near the window are rendered.
import { button, el, folded, prose, shorten } from "./dom.js";
import { announce, current, go, page, roomName, run, view } from "./run.js";

const GUESSED_HEIGHT = 150;
const AHEAD = "500px 0px";

let box;
let watcher;
let sheets = [];
let drawnOf = "";
let revealed = "";
// Until the user scrolls, the selected turn stays visible, whatever is rendered above it.
let held = false;

export function startTranscript(element) {
  box = element;
  for (const event of ["wheel", "touchmove", "pointerdown", "keydown"]) box.addEventListener(event, () => { held = false; }, { passive: true });
  watcher = new IntersectionObserver((seen) => seen.forEach(drawOrDrop), { root: box, rootMargin: AHEAD });
}

// Restores the scroll position after the transcript was hidden.
export function showTranscriptAgain() {
  revealed = "";
  if (current()?.columns) announce();
}

export async function updateTranscript() {
  const row = current();
  if (!row?.columns) return;
  const identity = `${row.episode}.${row.generation}`;
  if (identity !== drawnOf) begin(row, identity);
  const length = row.columns.turns.length;
  addSheets(length);
  const unfinished = sheets.map((sheet, number) => number).filter((number) => sheets[number].near && sheets[number].drawn < turnsOn(number, length));
  const drawn = Promise.all(unfinished.map((number) => draw(number)));
  const wanted = `${identity}.${view.at}.${view.following}`;
  if (wanted !== revealed) {
    revealed = wanted;
    await reveal();
  }
  await drawn;
}

function begin(row, identity) {
  drawnOf = identity;
  revealed = "";
  watcher.disconnect();
  sheets = [];
  box.replaceChildren(opening(row));
}

function opening(row) {
  const head = el("header", {}, button("0", () => select(0), { class: "number", "aria-label": "Go to the opening" }));
  head.append(el("span", { class: "where" }, "Opening"));
  return el("article", { class: "turn opening", "data-at": 0 }, head, prose(row.opening, "story"));
}

// A sheet contains a page of turns or, far from the window, an empty space of the same height.
function addSheets(length) {
  const pages = Math.ceil(length / run.pageTurns);
  while (sheets.length < pages) {
    const element = el("div", { class: "sheet", "data-page": sheets.length });
    element.style.height = `${turnsOn(sheets.length, length) * GUESSED_HEIGHT}px`;
    sheets.push({ element, drawn: 0, near: false });
    box.append(element);
    watcher.observe(element);
  }
}

function turnsOn(number, length) {
  return Math.min(run.pageTurns, length - number * run.pageTurns);
}

function drawOrDrop({ target, isIntersecting }) {
  const number = Number(target.dataset.page);
  const sheet = sheets[number];
  if (sheet?.element !== target) return;
  sheet.near = isIntersecting;
  // A failed request is repeated with the next update, which also reports the error.
  if (isIntersecting) draw(number).catch(announce);
  else drop(sheet);
}

async function draw(number, wanted = () => sheets[number].near) {
  const sheet = sheets[number];
  const answer = await page(view.episode, number);
  if (sheets[number] !== sheet || !wanted() || answer.rows.length <= sheet.drawn) return;
  const first = number * run.pageTurns + 1;
  sheet.element.append(...answer.rows.slice(sheet.drawn).map((row, index) => turn(row, first + sheet.drawn + index)));
  sheet.drawn = answer.rows.length;
  sheet.element.style.height = "";
  mark();
  if (held) bringIn();
}

function drop(sheet) {
  // Hidden elements have no height to keep.
  if (!sheet.drawn || !sheet.element.offsetHeight) return;
  sheet.element.style.height = `${sheet.element.offsetHeight}px`;
  sheet.element.replaceChildren();
  sheet.drawn = 0;
}

function turn(row, at) {
  const head = el("header", {}, button(row.turn, () => select(at), { class: "number", "aria-label": `Go to turn ${row.turn}` }));
  head.append(el("bdi", { class: "where" }, shorten(row.location_id === null ? row.location : roomName(row.location_id), 60)), ...badges(row));
  const article = el("article", { class: `turn${row.failed ? " failed" : ""}`, "data-at": at }, head);
  article.append(el("p", { class: "action", dir: "auto" }, shorten(row.action, 300)));
  if (row.reasoning) article.append(folded("Reasoning", () => prose(row.reasoning, "reasoning"), { class: "why" }));
  for (const word of ["refused", "fault"]) if (row[word]) article.append(prose(row[word], "fault"));
  article.append(prose(row.response, "story"));
  return article;
}

export function badges(row) {
  const gained = (row.score ?? 0) - (row.score_before ?? row.score ?? 0);
  const written = row.memory_events.filter((event) => !["seen again", "merged", "ignored"].includes(event.kind)).length;
  return [
    gained !== 0 && el("span", { class: `badge ${gained > 0 ? "good" : "bad"}` }, `${gained > 0 ? "+" : "−"}${Math.abs(gained)}`),
    row.died && el("span", { class: "badge bad" }, "died"),
    row.victory && el("span", { class: "badge good" }, "victory"),
    ...chooser(row),
    row.failed && el("span", { class: "badge quiet" }, "no effect"),
    row.rejections.length > 0 && el("span", { class: "badge warn" }, `${row.rejections.length} rejected`),
    written > 0 && el("span", { class: "badge note" }, "learned"),
    row.calls.some((call) => call.error) && el("span", { class: "badge bad" }, "model error"),
  ].filter(Boolean);
}

// Labels the player that chose the action, unless it is the player of the episode.
function chooser(row) {
  const usual = run.episodes.get(view.episode)?.player;
  if (!row.player || !usual || row.player === usual) return [];
  if (row.player === "rules") return [el("span", { class: "badge warn" }, "chosen by the rules")];
  return [el("span", { class: "badge quiet" }, `chosen by ${shorten(row.player, 30)}`)];
}

function select(at) {
  go(at);
}

function mark() {
  for (const known of box.querySelectorAll("[aria-current]")) known.removeAttribute("aria-current");
  box.querySelector(`[data-at="${view.at}"]`)?.setAttribute("aria-current", "true");
}

// Scrolls to the selected turn unless it is visible.
async function reveal() {
  mark();
  held = true;
  const at = view.at;
  const number = Math.floor((at - 1) / run.pageTurns);
  const sheet = sheets[number];
  if (at > 0 && sheet && !sheet.drawn) {
    if (!within(sheet.element)) box.scrollTop = topOf(sheet.element) - 40;
    await draw(number, () => view.at === at);
  }
  if (view.at === at) bringIn();
}

function bringIn() {
  const article = box.querySelector(`[data-at="${view.at}"]`);
  if (!article) return;
  const top = topOf(article);
  const visible = top >= box.scrollTop && top + Math.min(article.offsetHeight, 120) <= box.scrollTop + box.clientHeight;
  if (view.following && view.at === (current()?.columns.turns.length ?? 0)) box.scrollTop = box.scrollHeight;
  else if (!visible) box.scrollTop = top - box.clientHeight / 3;
}

function topOf(element) {
  return element.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
}

function within(element) {
  const top = topOf(element);
  return top < box.scrollTop + box.clientHeight && top + element.offsetHeight > box.scrollTop;
}
