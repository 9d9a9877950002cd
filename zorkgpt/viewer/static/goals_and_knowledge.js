// Objectives and knowledge at the selected turn.
import { el, fill, folded, prose, shorten, shown, turnLink } from "./dom.js";
import { objectiveRelied } from "./reasons.js";
import { askOnce } from "./api.js";
import { current, roomName, run, turnNumber, turnRow, view } from "./run.js";

let objectives;
let knowledge;

export function startObjectives(box) {
  objectives = box;
}

export function startKnowledge(box) {
  knowledge = box;
}

export async function updateObjectives() {
  await refill(objectives, "objectives_updated", false, (found, row) => found
    ? [since(found), el("ul", { class: "objectives" }, listed(found.note.objectives).map((one) => objective(one, row)))]
    : [none("No objectives yet.")]);
}

export async function updateKnowledge() {
  await refill(knowledge, "knowledge_updated", true, (found) => found
    ? [since(found), ...learned(found)]
    : [none("No knowledge yet.")]);
}

async function refill(box, kind, outlives, content) {
  if (!current()?.columns) return;
  const key = () => `${view.episode}.${view.at}.${current().notes}`;
  const before = key();
  if (box.dataset.key === before) return;
  const [found, row] = await Promise.all([latest(kind, outlives), turnRow(view.episode, view.at)]);
  if (before === key()) fill(box, before, content(found, row));
}

// The latest note of a kind up to the turn. If `outlives`, earlier episodes count too.
export async function latest(kind, outlives, until = turnNumber()) {
  for (const number of [...run.episodes.keys()].reverse()) {
    const row = run.episodes.get(number);
    if (number > view.episode || (number < view.episode && !outlives) || !row.notes) continue;
    const { notes } = await askOnce(`episodes/${number}/notes`, String(row.notes));
    const found = notes.filter((one) => one.kind === kind && (number < view.episode || one.turn <= until)).at(-1);
    if (found) return { note: found, episode: number };
  }
  return null;
}

function since({ note, episode }) {
  return el("p", { class: "quiet" }, "since ", turnLink(episode, note.turn));
}

function none(words) {
  return el("p", { class: "empty" }, words);
}

function objective(one, row) {
  if (one === null || typeof one !== "object") return el("li", { dir: "auto" }, shorten(one, 600));
  const status = shorten(one.status ?? "open", 20);
  const kind = { open: "note", reached: "good", stale: "warn" }[status] ?? "quiet";
  const more = [["Done when", one.done_when], ["at", places(one.places)], ["abandoned in episode", listed(one.given_up).map(shown).join(", ")]].filter(([, value]) => value);
  const origin = moments([one.origin]);
  const relied = row ? objectiveRelied(one, row) : "";
  return el("li", { class: `objective ${kind === "quiet" ? "past" : ""}`, dir: "auto" }, el("span", { class: `badge ${kind}` }, status), el("b", {}, shorten(one.text, 600)),
    el("span", { class: "quiet" }, more.map(([name, value]) => `${name} ${shorten(value, 300)}`).join(" · "), ...(origin.length ? [more.length ? " · since " : "since ", ...origin] : [])),
    relied && el("span", { class: "relied-on" }, `Used: ${relied}`),
    ...listed(one.reached).map((proof) => el("span", { class: "proof" }, "✓ ", ...moments([proof]), ` ${shorten(proof?.words, 300)}`)));
}

function moments(given) {
  return given.filter((one) => Number.isInteger(one?.episode)).map((one) => (Number.isInteger(one.turn ?? 0) ? turnLink(one.episode, one.turn ?? 0, `${one.episode}:${one.turn ?? 0}`) : `${one.episode}:${shown(one.turn)}`));
}

function places(given) {
  return listed(given).map((place) => (Number.isInteger(place) ? roomName(place) : shorten(place, 60))).join(", ");
}

function listed(given) {
  return Array.isArray(given) ? given : [];
}

function learned({ note }) {
  const news = [...listed(note.added).map((line) => el("li", { class: "new", dir: "auto" }, shorten(line, 600))), ...listed(note.struck).map((line) => el("li", { class: "lost", dir: "auto" }, shorten(line, 600)))];
  return [news.length > 0 && el("ul", { class: "news" }, news), note.text && folded("Full text", () => prose(note.text, "verbatim"), { open: news.length === 0 })];
}
