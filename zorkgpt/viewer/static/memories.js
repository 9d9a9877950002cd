// The memories of a place: at the player's place as before the action, at a selected place as after the turn.
import { button, el, fill, folded, prose, shorten } from "./dom.js";
import { announce, moment, now, place, placesOf, roomName, run, turnNumber, turnRow, view } from "./run.js";
import { believed, memoriesAt, memoryCard } from "./memory_card.js";
import { editTools } from "./editing.js";
import { memoryRelied } from "./reasons.js";

let box;

export function startMemories(element) {
  box = element;
}

export async function updateMemories() {
  const asked = view.place;
  const id = asked ?? placesOf()[0];
  const at = asked !== null || view.at === 0 ? now() : moment(view.episode, turnNumber() - 1);
  const key = `${view.episode}.${view.at}.${id}.${asked !== null}.${run.memory}.${run.edit}.${view.find !== null}.${roomName(id)}`;
  if (id === null || id === undefined || box.dataset.key === key) return;
  const [answer, row] = await Promise.all([place(id), turnRow(view.episode, view.at)]);
  if (id !== (view.place ?? placesOf()[0])) return;
  const states = memoriesAt(answer.threads, at);
  const relied = asked === null && row ? (memory) => memoryRelied(memory, id, row) : () => "";
  fill(box, key, [heading(id, asked), ...list(states, id, relied), ...told(asked === null ? row : null)]);
}

function heading(id, asked) {
  const words = asked !== null ? "after this turn" : view.at ? "before this turn" : "at the start";
  const head = el("header", {}, el("h3", { dir: "auto" }, shorten(roomName(id), 80)), el("p", { class: "quiet" }, `Memories ${words}`));
  if (asked !== null) head.append(button("Back to the current place", () => { view.place = null; announce(); }, { class: "small" }));
  return head;
}

function list(states, id, relied) {
  const current = states.filter(believed);
  const past = states.filter((state) => !believed(state));
  const cards = current.map((state) => memoryCard(state, editTools(id, state.thread), relied(state.memory)));
  if (!cards.length) cards.push(el("p", { class: "empty" }, "No memories of this place yet."));
  if (past.length) {
    cards.push(folded(`No longer shown (${past.length})`, () => el("div", {}, past.map((state) => memoryCard(state, editTools(id, state.thread)))), { class: "past", open: view.find !== null || (box.querySelector(".past")?.open ?? false) }));
  }
  return cards;
}

function told(row) {
  return row?.memory_shown ? [folded("Memory text in the prompt", () => prose(row.memory_shown, "verbatim"))] : [];
}
