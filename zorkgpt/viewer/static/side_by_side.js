// Two episodes beside each other: turn by turn, where they part, and what the later one knew by then.
import { button, count, el, fill, prose, shorten, turnLink } from "./dom.js";
import { askOnce } from "./api.js";
import { announce, current, go, load, moment, page, place, roomName, run, view } from "./run.js";
import { believed, memoriesAt } from "./memory_state.js";
import { memoryCard } from "./memory_card.js";
import { badges } from "./transcript.js";

const AROUND = 6;

let box;
let panel;

export function startBeside(element) {
  box = element;
  panel = element.closest("section");
}

export async function toggleBeside(other) {
  view.beside = view.beside === null ? other : null;
  announce();
  if (view.beside === null) return;
  const parting = await compared(...pair());
  if (parting.parted && view.beside !== null) go(parting.parted);
}

function pair() {
  return [Math.min(view.episode, view.beside), Math.max(view.episode, view.beside)];
}

function compared(one, other) {
  const version = [one, other].map((number) => `${run.episodes.get(number).generation}.${run.episodes.get(number).count}`).join(".");
  return askOnce(`episodes/${one}/beside/${other}`, version);
}

export async function updateBeside() {
  const open = view.beside !== null && view.beside !== view.episode && run.episodes.has(view.beside);
  panel.hidden = !open;
  document.body.classList.toggle("comparing", open);
  if (!open || !current()?.columns) return;
  const [one, other] = pair();
  await Promise.all([load(one), load(other)]);
  const key = `${one}.${other}.${view.at}.${run.episodes.get(one).count}.${run.episodes.get(other).count}.${run.memory}`;
  if (box.dataset.key === key) return;
  const parting = await compared(one, other);
  const rows = await Promise.all([window_(one), window_(other)]);
  const knew = await whatTheLaterKnew(one, other, parting);
  if (key.startsWith(`${pair().join(".")}.${view.at}.`)) fill(box, key, [summary(one, other, parting, knew), table(one, other, rows, parting), ...explained(one, other, knew)]);
}

function summary(one, other, parting, knew) {
  const how = { action: "they do different things", outcome: "the same action has another outcome", end: "one of them is over" };
  const words = parting.parted ? `Alike for ${count(parting.same, "turn")}. In turn ${parting.parted} ${how[parting.by]}.` : "They are the same from beginning to end.";
  const known = knew?.fresh.length ? ` Episode ${other} knew ${count(knew.fresh.length, "thing")} about ${shorten(roomName(knew.id), 60)} that episode ${one} did not: see below.` : "";
  return el("p", { class: "summary", dir: "auto" }, words, known, " ", parting.parted && button("Go there", () => go(parting.parted), { class: "small" }));
}

async function window_(episode) {
  const length = run.episodes.get(episode).columns.turns.length;
  const [first, last] = [Math.max(1, view.at - AROUND), Math.min(length, view.at + AROUND)];
  const found = [];
  for (let at = first; at <= last; at++) {
    const { rows, from } = await page(episode, Math.floor((at - 1) / run.pageTurns));
    found.push([at, rows[at - 1 - from]]);
  }
  return new Map(found);
}

function table(one, other, [left, right], parting) {
  const numbers = [...new Set([...left.keys(), ...right.keys()])].sort((a, b) => a - b);
  const body = numbers.map((at) => el("tr", { class: `${at === parting.parted ? "parting" : ""} ${at === view.at ? "looked-at" : ""} ${at < (parting.parted ?? Infinity) ? "alike" : ""}` },
    el("th", { scope: "row" }, at), cell(left.get(at), one), cell(right.get(at), other)));
  const title = (episode) => `Episode ${episode}, ${shorten(run.episodes.get(episode).reason ?? "not over", 40)}`;
  return el("table", { class: "beside" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Turn"), el("th", { scope: "col" }, title(one)), el("th", { scope: "col" }, title(other)))), el("tbody", {}, body));
}

function cell(row, episode) {
  if (!row) return el("td", { class: "over" }, "over");
  return el("td", {}, el("p", { class: "where" }, turnLink(episode, row.turn, `${episode}:${row.turn}`), " ", el("bdi", {}, shorten(roomName(row.location_id), 50)), " ", ...badges(row)), el("p", { class: "action", dir: "auto" }, shorten(row.action, 160)),
    row.reasoning && el("p", { class: "quiet", dir: "auto" }, shorten(row.reasoning, 200)), prose(shorten(row.response, 260), "story"));
}

// At the place where they part: what was believed in the later episode, and not yet in the earlier one, at that turn.
async function whatTheLaterKnew(one, other, parting) {
  if (!parting.parted || parting.by === "end") return null;
  const id = run.episodes.get(other).columns.places[parting.parted - 1];
  if (id === null || id === undefined) return null;
  const { threads } = await place(id);
  const words = ({ memory }) => `${memory.title}\n${memory.text}`;
  const earlier = new Set(memoriesAt(threads, moment(one, parting.parted - 1)).filter(believed).map(words));
  const later = memoriesAt(threads, moment(other, parting.parted - 1)).filter(believed);
  return { id, fresh: later.filter((state) => !earlier.has(words(state))) };
}

function explained(one, other, knew) {
  if (knew === null) return [];
  const heading = el("h3", { dir: "auto" }, `What episode ${other} knew of ${shorten(roomName(knew.id), 60)} there, and episode ${one} did not`);
  return [heading, ...(knew.fresh.length ? knew.fresh.map((state) => memoryCard(state)) : [el("p", { class: "empty" }, "Nothing more: both knew the same of this place.")])];
}
