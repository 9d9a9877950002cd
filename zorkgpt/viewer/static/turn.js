// Details of the selected turn: place, inventory, memory changes, critic and model calls.
import { copyButton, count, el, fill, folded, prose, shorten, shown, turnLink } from "./dom.js";
import { announce, current, moment, place, placesOf, roomName, run, turnRow, view } from "./run.js";
import { badges } from "./transcript.js";
import { believed, beside, memoriesAt } from "./memory_card.js";
import { latest } from "./goals_and_knowledge.js";
import { knowledgeLines, memoryRelied, objectiveRelied, placesInReason } from "./reasons.js";
import { PLAYER, callList, promptBudget } from "./calls.js";
import { askOnce } from "./api.js";
import { linkTo } from "./address.js";

const WORDS = {
  added: "Learned", "seen again": "Already known", merged: "Already known in other words",
  superseded: "Superseded", contested: "Contradicts another memory; both are kept", qualified: "Limited to a certain state", invalidated: "Marked as wrong", ignored: "Not saved",
};
const REFUSED = new Set(["seen again", "merged", "ignored"]);

let box;

export function startTurn(element) {
  box = element;
}

export async function updateTurn() {
  const row = current();
  if (!row?.columns) return;
  const { episode, at } = view;
  const key = `${episode}.${row.generation}.${at}.${run.memory}.${row.reason}`;
  if (box.dataset.key === key) return;
  if (at === 0) {
    fill(box, key, opening(row));
    return;
  }
  const [turn, before] = await Promise.all([turnRow(episode, at), turnRow(episode, at - 1)]);
  if (view.at !== at || view.episode !== episode || !turn) return;
  const [written, relied, held] = await Promise.all([writings(turn), reliances(turn, episode), promptOf(turn, episode)]);
  if (view.at === at && view.episode === episode) fill(box, key, [whereabouts(turn, before), ...relied, copies(turn, episode), ...written, ...verdicts(turn), ...read(turn.extraction), ...held, ...calls(turn, episode), ...ending(row, at)]);
}

function opening(row) {
  const facts = [["Player", row.player], ["Story", row.title], ["Seed", row.seed], ["Maximum turns", row.max_turns], ["Started", row.started.replace(/^(.{10})T(.{5}).*\+00:00$/, "$1 $2 UTC")]];
  return [el("dl", { class: "facts" }, facts.filter(([, value]) => value !== null && value !== "").flatMap(([name, value]) => [el("dt", {}, name), el("dd", { dir: "auto" }, shorten(value, 120))]))];
}

// Memories, objectives and knowledge that the action was based on, as far as known.
async function reliances(turn, episode) {
  const found = [];
  for (const id of placesInReason(turn)) {
    for (const { memory } of memoriesAt((await place(id)).threads, moment(episode, turn.turn - 1)).filter(believed)) {
      const why = memoryRelied(memory, id, turn);
      if (why) found.push(reliance("Memory", memory.title, why, el("button", { type: "button", class: "small", on: { click: () => { Object.assign(view, { place: id, tab: "memories", panel: "known" }); announce(); } } }, shorten(roomName(id), 60))));
    }
  }
  const [objectives, knowledge] = await Promise.all([latest("objectives_updated", false, turn.turn - 1), latest("knowledge_updated", true, turn.turn - 1)]);
  for (const one of Array.isArray(objectives?.note.objectives) ? objectives.note.objectives : []) {
    const why = objectiveRelied(one, turn);
    if (why) found.push(reliance("Objective", one.text, why, turnLink(objectives.episode, objectives.note.turn)));
  }
  for (const line of knowledgeLines(knowledge?.note.text, turn)) found.push(reliance("Knowledge", line, "mentioned in the reason", turnLink(knowledge.episode, knowledge.note.turn)));
  return found.length ? [el("h3", {}, "Based on"), el("ul", { class: "reliances" }, found)] : [];
}

function reliance(kind, words, why, source) {
  return el("li", {}, el("span", { class: "what" }, kind), el("b", { dir: "auto" }, shorten(words, 300)), el("span", { class: "quiet" }, `${why} · `, source));
}

function copies(turn, episode) {
  return el("p", { class: "copies" }, copyButton("Copy as text", async () => asText(turn, episode)),
    copyButton("Copy as JSON", async () => JSON.stringify({ episode, ...turn }, null, 2)), copyButton("Copy link", async () => linkTo()));
}

function asText(turn, episode) {
  const gained = (turn.score ?? 0) - (turn.score_before ?? turn.score ?? 0);
  const score = turn.score === null ? "" : `, score ${turn.score}${gained ? ` (${gained > 0 ? "+" : ""}${gained})` : ""}`;
  const lines = [`Episode ${episode}, turn ${turn.turn}, ${turn.location}${turn.location_after_id === turn.location_id ? "" : ` → ${turn.location_after}`}${score}`,
    ...(turn.reasoning ? [`Why: ${turn.reasoning}`] : []), `> ${turn.action}`, "", ...["refused", "fault"].filter((name) => turn[name]).map((name) => turn[name]), turn.response ?? "", "",
    `Inventory: ${turn.inventory.join(", ") || "empty"}`,
    ...turn.memory_events.map((event) => `${WORDS[event.kind] ?? event.kind}: ${event.title}${event.text ? `: ${event.text}` : ""}`)];
  return `${lines.join("\n").trim()}\n`;
}

function whereabouts(turn, before) {
  const [from, to] = placesOf();
  const way = from === to ? roomName(to) : `${roomName(from)} → ${roomName(to)}`;
  const had = new Set(before?.inventory ?? turn.inventory);
  const lost = (before?.inventory ?? []).filter((item) => !turn.inventory.includes(item));
  const items = [...turn.inventory.map((item) => el("li", { class: had.has(item) ? "" : "new", dir: "auto" }, shorten(item, 60))),
    ...lost.map((item) => el("li", { class: "lost", dir: "auto" }, shorten(item, 60)))];
  return el("div", { class: "whereabouts" },
    el("p", { class: "action", dir: "auto" }, shorten(turn.action, 300)),
    el("p", { class: "way", dir: "auto" }, shorten(way, 160), " ", ...badges(turn)),
    turn.reasoning && prose(turn.reasoning, "reasoning"),
    el("h3", {}, "Inventory"), items.length ? el("ul", { class: "items" }, items) : el("p", { class: "empty" }, "Empty"));
}

async function writings(turn) {
  const events = turn.memory_events;
  if (!events.length) return [];
  const places = new Map();
  for (const id of new Set(events.map((event) => event.location_id))) if (id !== null) places.set(id, await place(id));
  const at = (event) => moment(view.episode, event.turn ?? turn.turn);
  return [el("h3", {}, "Memory changes"), el("ul", { class: "writings" }, events.map((event) => writing(event, places.get(event.location_id), at(event))))];
}

function writing(event, answer, at) {
  const version = (answer?.threads ?? []).flat().find((one) => one.at === at && one.memory.title === event.title);
  const item = el("li", { class: REFUSED.has(event.kind) ? "refused" : "kept" },
    el("span", { class: "what" }, WORDS[event.kind] ?? shorten(event.kind, 40)), el("b", { dir: "auto" }, shorten(event.title, 200)),
    el("span", { class: "quiet" }, `at ${shorten(roomName(event.location_id), 60)}, ${shorten(event.persistence, 20)}${event.turn == null ? "" : `, about turn ${event.turn}`}`));
  if (event.detail) item.append(prose(event.detail, "reason"));
  const text = event.text || version?.memory.text || "";
  const other = version?.other ?? (event.other ? { title: "", text: event.other } : null);
  if (other) item.append(beside(event.title, text, other.title, other.text, ["This memory", "Compared with"]));
  else if (text && event.kind !== "seen again") item.append(prose(text, "fact"));
  if (version?.reason && version.reason !== event.detail) item.append(prose(version.reason, "reason"));
  return item;
}

function verdicts(turn) {
  const all = turn.rejections.map((one) => [one, one.obeyed ? "rejected" : "rejected, but played anyway"]);
  if (turn.critic_score !== null) all.push([{ action: turn.action, judge: "model", score: turn.critic_score }, "played"]);
  if (!all.length) return [];
  return [el("h3", {}, "The critic"), el("ul", { class: "verdicts" }, all.map(([one, what]) => el("li", {},
    el("b", { class: "action", dir: "auto" }, shorten(one.action || turn.action, 160)), el("span", { class: "what" }, ` ${what}`),
    el("span", { class: "quiet" }, [one.judge && ` by the ${shorten(one.judge, 30)}`, one.score !== null && `, ${one.score}`].filter(Boolean).join("")),
    one.reason && prose(one.reason, "reason"))))];
}

// Extracted fields that are not empty.
function read(extraction) {
  const found = Object.entries(extraction ?? {}).filter(([name, value]) => name !== "by" && (Array.isArray(value) ? value.length : value && typeof value !== "object"));
  if (!found.length) return [];
  const words = (value) => shorten(Array.isArray(value) ? value.map(shown).join(", ") : value === true ? "yes" : value, 300);
  return [el("h3", {}, "Extracted from the response"), el("dl", { class: "facts" }, found.flatMap(([name, value]) => [el("dt", {}, shorten(name.replaceAll("_", " "), 40)), el("dd", { dir: "auto" }, words(value))]))];
}

// The sections of the player's last prompt in this turn.
async function promptOf(turn, episode) {
  const call = turn.calls.filter(({ role }) => role === PLAYER).at(-1);
  if (!call) return [];
  const held = await askOnce(`episodes/${episode}/calls/${call.call}`).then(promptBudget, (error) => el("p", { class: "empty" }, error.message));
  return [el("h3", {}, "Prompt sections"), held];
}

function calls(turn, episode) {
  if (!turn.calls.length) return [];
  return [el("h3", {}, count(turn.calls.length, "model call")), callList(turn.calls, episode)];
}

function ending(row, at) {
  if (at < row.columns.turns.length || row.reason === null) return [];
  return [el("p", { class: "ending" }, `Episode ended: ${shorten(row.reason, 60)}`), row.message && folded("Details", () => prose(row.message))];
}
