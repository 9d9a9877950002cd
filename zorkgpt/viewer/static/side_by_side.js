// Compares episodes by place or by score, and shows what the later one knew where they diverge.
import { button, count, el, fill, shorten, turnLink } from "./dom.js";
import { announce, current, load, moment, place, roomName, run, view } from "./run.js";
import { believed, memoriesAt, memoryCard } from "./memory_card.js";
import { change } from "./table.js";
import { byPlace, byScore, parting } from "./comparison.js";

const BEFORE = 40;
const STEP = 120;
const FEW = 8;
const FOLDED = 3;
const PLACE_REM = 5;
const EPISODE_REM = 7.5;
const HOW = { action: "the actions differ", outcome: "the same action has different outcomes", end: "one episode ends" };

let box;
let panel;
let shownFrom = 0;
let shownTo = 0;
let opened = new Set();
// The scroll position of a closed comparison, restored when it is opened again.
let left = { of: "", top: 0, at: 0 };
let compared = null;

export function startBeside(element) {
  box = element;
  panel = element.closest("section");
}

export function besideOthers(numbers) {
  view.beside = numbers.length ? numbers : null;
  announce();
}

function chosen() {
  return [...new Set([view.episode, ...(view.beside ?? [])])].sort((one, other) => one - other);
}

export async function updateBeside() {
  const numbers = chosen().filter((number) => run.episodes.has(number));
  const open = view.beside !== null && numbers.length > 1;
  const reopened = open && panel.hidden;
  if (!open && !panel.hidden) left.top = box.scrollTop;
  panel.hidden = !open;
  document.body.classList.toggle("comparing", open);
  if (!open || !current()?.columns) return;
  const of = `${numbers}.${view.by}`;
  const known = await comparison(numbers, of);
  if (of !== `${chosen()}.${view.by}` || panel.hidden) return;
  const fresh = of !== left.of;
  if (fresh) [left, opened, shownTo] = [{ of, top: 0 }, new Set(), 0];
  const rows = view.by === "place" ? placeRows(known) : null;
  const key = [known.key, view.episode, view.at, shownFrom, shownTo, ...opened].join("|");
  if (box.dataset.key !== key) fill(box, key, [tools(numbers), ...known.partings, rows ? placeTable(known.episodes, rows) : scoreTable(known), ...known.knew.flatMap(explained)]);
  if (fresh || left.at !== view.at) bringIn();
  if (reopened && !fresh) box.scrollTop = left.top;
  left.at = view.at;
}

// The parts of the comparison that don't depend on the selected turn.
async function comparison(numbers, of) {
  const key = `${of}.${numbers.map(version)}.${run.memory}`;
  if (compared?.key === key) return compared;
  const episodes = await Promise.all(numbers.map(episodeOf));
  const knew = await Promise.all(episodes.slice(1).map((other, index) => whatTheLaterKnew(episodes[index], other)));
  compared = { key, episodes, knew, partings: partings(episodes), rows: view.by === "place" ? byPlace(episodes) : byScore(episodes) };
  return compared;
}

function version(number) {
  return `${run.episodes.get(number).generation}.${run.episodes.get(number).count}`;
}

async function episodeOf(number) {
  return { number, columns: await load(number) };
}

function tools(numbers) {
  const by = (id, name) => button(name, () => { view.by = id; announce(); }, { class: "small", "aria-pressed": String(view.by === id) });
  const others = [...run.episodes.keys()].filter((number) => !numbers.includes(number));
  const add = el("select", { class: "small", "aria-label": "Add another episode", on: { change: () => besideOthers([...view.beside, Number(add.value)]) } },
    el("option", { value: "" }, "Add…"), others.map((number) => el("option", { value: number }, `Episode ${number}`)));
  const drop = numbers.filter((number) => number !== view.episode).map((number) => button(`Episode ${number} ✕`, () => besideOthers(view.beside.filter((one) => one !== number)), { class: "small", "aria-label": `Remove episode ${number} from the comparison` }));
  return el("p", { class: "comparers" }, el("span", { role: "group", "aria-label": "Compare by" }, by("place", "By place"), by("score", "By score")), ...drop, others.length > 0 && add);
}

// For each later episode: where it diverges from the first one, and where they meet again.
function partings(episodes) {
  const [first, ...others] = episodes;
  return others.map((other) => {
    const names = episodes.length > 2 ? `Episodes ${first.number} and ${other.number}: ` : "";
    const parted = parting(first, other);
    if (!parted) return el("p", { class: "summary" }, `${names}Identical.`);
    const at = parted.same + 1;
    const together = byPlace([first, other]).find(({ cells: [mine, theirs] }) => mine && theirs && mine.first > at && theirs.first > at);
    const turns = [first, other].flatMap((episode) => (episode.columns.turns[at - 1] === undefined ? [] : [" ", to(episode, at)]));
    return el("p", { class: "summary" }, `${names}Identical for ${count(parted.same, "turn")}. In turn ${at}, ${HOW[parted.by]}:`, turns,
      ...(together && parted.by !== "end" ? [`. Same place again at ${shorten(roomName(together.place), 60)}: `, to(first, together.cells[0].first), " ", to(other, together.cells[1].first)] : []), ".");
  });
}

function to({ number, columns }, at, words = `${number}:${columns.turns[at - 1]}`) {
  const turn = columns.turns[at - 1];
  return turnLink(number, turn, words, words === turn ? { "aria-label": `${number}:${turn}` } : {});
}

function table(label, episodes, first, rows) {
  const title = ({ number }) => `Episode ${number}, ${shorten(run.episodes.get(number).reason ?? "not finished", 40)}`;
  const head = el("thead", {}, el("tr", {}, el("th", { scope: "col" }, first), episodes.map((episode) => el("th", { scope: "col" }, title(episode)))));
  const whole = el("table", { class: "beside", "aria-label": label }, head, el("tbody", {}, rows));
  whole.style.minWidth = `${PLACE_REM + episodes.length * EPISODE_REM}rem`;
  return whole;
}

// The rows near the selected turn, unless the user asked for more.
function placeRows({ episodes, rows: all }) {
  const rows = folded(all);
  const here = episodes.findIndex(({ number }) => number === view.episode);
  const isHere = ({ cells }) => cells[here] && cells[here].first <= view.at && view.at <= cells[here].last;
  const looked = Math.max(0, rows.findIndex((row) => (row.fold ?? [row]).some(isHere)));
  if (looked < shownFrom || looked >= shownTo) [shownFrom, shownTo] = [Math.max(0, looked - BEFORE), looked - BEFORE + STEP];
  const parted = rows.findIndex((row) => !row.fold && !row.alike);
  return rows.map((row, index) => ({ ...row, marks: [index === parted && "parting", index === looked && "looked-at", (row.fold || row.alike) && "alike"].filter(Boolean).join(" ") }));
}

function placeTable(episodes, rows) {
  const more = (words, act) => button(words, () => { act(); announce(); }, { class: "small" });
  return el("div", {}, el("p", { class: "quiet" }, "Each row is one stay at a place. ◆ marks actions that no other episode took during that stay."),
    shownFrom > 0 && more(`Show ${count(Math.min(STEP, shownFrom), "earlier row")}`, () => { shownFrom = Math.max(0, shownFrom - STEP); }),
    table("Episodes by place", episodes, "Place", rows.slice(shownFrom, shownTo).map((row) => placeRow(row, episodes))),
    rows.length > shownTo && more(`Show ${count(Math.min(STEP, rows.length - shownTo), "later row")}`, () => { shownTo += STEP; }));
}

// Folds runs of identical rows into one, until the user opens them.
function folded(rows) {
  const found = [];
  rows.forEach((row) => {
    if (row.alike && found.at(-1)?.fold) found.at(-1).fold.push(row);
    else found.push(row.alike ? { fold: [row] } : row);
  });
  return found.flatMap((row) => (row.fold && (row.fold.length < FOLDED || opened.has(row.fold[0].cells[0].first)) ? row.fold : [row]));
}

function placeRow(row, episodes) {
  if (!row.fold) {
    return el("tr", { class: row.marks }, el("th", { scope: "row", dir: "auto" }, shorten(roomName(row.place), 60)), row.cells.map((stay, number) => stayCell(stay, row.done[number], episodes[number])));
  }
  const [first, last] = [row.fold[0], row.fold.at(-1)];
  const open = button(`${row.fold.length} identical places`, () => { opened.add(first.cells[0].first); announce(); }, { class: "small", title: "Show them" });
  return el("tr", { class: row.marks }, el("th", { scope: "row" }, open), episodes.map((episode, number) => el("td", {}, to(episode, first.cells[number].first, span(episode, first.cells[number].first, last.cells[number].last)))));
}

function span({ number, columns }, first, last) {
  const [from, until] = [columns.turns[first - 1], columns.turns[last - 1]];
  return first === last ? `${number}:${from}` : `${number}:${from} to ${until}`;
}

function stayCell(stay, done, episode) {
  if (!stay) return el("td", { class: "over" }, "–");
  const item = (one) => el("li", {}, to(episode, one.at, one.turn), " ", el("span", { class: "action", dir: "auto" }, shorten(one.action, 120)), " ",
    one.own && el("span", { class: "own", title: "Only this episode did this here" }, "◆"), ...badges(one));
  const rest = done.length > FEW && el("li", { class: "quiet" }, `and ${done.length - FEW} more, until `, to(episode, stay.last));
  return el("td", {}, el("p", { class: "where" }, to(episode, stay.first, span(episode, stay.first, stay.last))), el("ul", { class: "deeds" }, done.slice(0, FEW).map(item), rest));
}

function badges({ gain, died }) {
  return [gain !== 0 && change(gain), died && el("span", { class: "badge bad" }, "died")].filter(Boolean);
}

function scoreTable({ episodes, rows: all }) {
  const cell = (one, episode) => (one ? el("td", {}, el("p", { class: "where" }, to(episode, one.at)), `${count(one.score, "point")}, ${count(one.since, "turn")} after ${one.since === one.turn ? "the start" : "the last points"}`) : el("td", { class: "over" }, "never"));
  const rows = all.map((row) => el("tr", { class: row.cells.every(Boolean) ? "" : "differs" },
    el("th", { scope: "row" }, change(row.gain), " ", el("span", { class: "action", dir: "auto" }, shorten(row.action, 80)), " ", el("bdi", { class: "quiet" }, shorten(roomName(row.place), 60))),
    row.cells.map((one, number) => cell(one, episodes[number]))));
  const end = (episode) => el("td", {}, episode.columns.turns.length ? to(episode, episode.columns.turns.length) : "–", ` ${episode.columns.scores.at(-1) ?? "?"} points`);
  return table("Episodes by score", episodes, "Action", [...rows, el("tr", {}, el("th", { scope: "row" }, "End"), episodes.map(end))]);
}

// Scrolls to the row of the selected turn.
function bringIn() {
  const row = box.querySelector("tr.looked-at");
  if (!row) return;
  const top = row.getBoundingClientRect().top - box.getBoundingClientRect().top;
  if (top < 0 || top > box.clientHeight - 60) box.scrollTop += top - box.clientHeight / 3;
}

// The memories that the later episode had and the earlier one did not, at the turn where they diverge.
async function whatTheLaterKnew(one, other) {
  const parted = parting(one, other);
  if (!parted || parted.by === "end") return null;
  const id = other.columns.places[parted.same];
  if (id === null || id === undefined) return null;
  const { threads } = await place(id);
  const words = ({ memory }) => `${memory.title}\n${memory.text}`;
  const earlier = new Set(memoriesAt(threads, moment(one.number, parted.same)).filter(believed).map(words));
  const later = memoriesAt(threads, moment(other.number, parted.same)).filter(believed);
  return { id, one: one.number, other: other.number, fresh: later.filter((state) => !earlier.has(words(state))) };
}

function explained(knew) {
  if (knew === null) return [];
  const heading = el("h3", { dir: "auto" }, `Memories of ${shorten(roomName(knew.id), 60)} that only episode ${knew.other} had when they diverged (not episode ${knew.one})`);
  return [heading, ...(knew.fresh.length ? knew.fresh.map((state) => memoryCard(state)) : [el("p", { class: "empty" }, "None. Both had the same memories of this place.")])];
}
