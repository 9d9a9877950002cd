// All memories of all places in one sortable table.
import { button, count, el, fill, folded, prose, shorten, turnLink } from "./dom.js";
import { askOnce } from "./api.js";
import { announce, attempt, openPlace, parted, place, roomName, run, view } from "./run.js";
import { history } from "./memory_card.js";
import { sorted, table } from "./table.js";

const STEP = 200;
const LASTING = new Set(["core", "permanent"]);

let box;
let limit = STEP;

const number = (value) => (Number.isFinite(value) ? value : 0);
const COLUMNS = [
  { id: "place", name: "Place", value: (row) => roomName(row.place), cell: (row) => button(shorten(roomName(row.place), 60), () => attempt(() => openPlace(row.place)), { class: "small", title: "Show on the map" }) },
  { id: "title", name: "Memory", class: "name", value: (row) => row.title, cell: (row) => folded(shorten(row.title, 160) || "(no title)", () => opened(row)) },
  { id: "category", name: "Category", value: (row) => shorten(row.category, 24) },
  { id: "kind", name: "Kind", value: (row) => shorten(row.kind ?? "", 24) },
  { id: "class", name: "Class", value: (row) => shorten(row.persistence, 24) },
  { id: "status", name: "Status", value: status },
  { id: "seen", name: "Seen", number: true, value: (row) => Math.max(1, number(row.observation_count)) },
  { id: "shown", name: "Shown", number: true, title: "Turns in which the player was shown it", value: (row) => row.shown, cell: (row) => (row.shown ? row.shown.toLocaleString("en") : "never") },
  { id: "tried", name: "Tried", number: true, title: "Times the player followed it after it was shown", value: (row) => number(row.tried), cell: (row) => (number(row.tried) ? row.tried.toLocaleString("en") : LASTING.has(row.persistence) && row.shown ? "unused" : "–") },
  { id: "worked", name: "Worked", number: true, title: "Times the outcome matched", value: (row) => (number(row.tried) ? number(row.worked) / row.tried : null), cell: (row) => shorten(row.results ?? "", 60) || (number(row.tried) ? `worked ${number(row.worked)}/${row.tried}` : "–") },
  { id: "misled", name: "Misled", number: true, title: "Times the outcome did not match, except for dangers", value: (row) => (number(row.tried) && row.category !== "DANGER" ? number(row.tried) - number(row.worked) : null) },
  { id: "contested", name: "Contested", number: true, title: "Memories that contradict it", value: (row) => row.contested },
  { id: "first", name: "First", number: true, value: (row) => row.first, cell: (row) => link(row.first) },
  { id: "last", name: "Last change", number: true, value: (row) => row.last, cell: (row) => link(row.last) },
];
export const SORTS = COLUMNS.map(({ id }) => id);

export function startEverything(element) {
  box = element;
}

export async function updateEverything() {
  box.closest("section").hidden = view.screen !== "memories";
  if (view.screen !== "memories") return;
  const version = `${run.memory}.${[...run.episodes.values()].map((row) => `${row.generation}.${row.count}`)}`;
  const key = `${version}.${view.sort}.${view.from}.${limit}`;
  if (box.dataset.key === key) return;
  const memories = (await askOnce("memories", version)).memories.filter((row) => view.from === null || isFrom(row, view.from));
  const rows = sorted(COLUMNS, memories, view.sort);
  const more = rows.length > limit && button(`Show ${STEP} more of ${rows.length - limit}`, () => { limit += STEP; announce(); }, { class: "small" });
  fill(box, key, memories.length ? [...chosen(), summary(memories), table(COLUMNS, rows.slice(0, limit), { sort: view.sort, label: "All memories", choose: (wanted) => { view.sort = wanted; announce(); }, more })]
    : [...chosen(), el("p", { class: "empty" }, view.from === null ? "No memories yet." : "This episode added no lasting memories.")]);
}

function isFrom(row, episode) {
  return LASTING.has(row.persistence) && parted(row.first)[0] === episode;
}

function chosen() {
  if (view.from === null) return [];
  return [el("p", {}, `Lasting memories from episode ${view.from}. `, button("Show all", () => { view.from = null; announce(); }, { class: "small" }))];
}

function summary(rows) {
  const lasting = rows.filter((row) => LASTING.has(row.persistence));
  const [tried, wrong, unseen] = [(row) => number(row.tried) > 0, (row) => row.disproved, (row) => !row.shown].map((holds) => lasting.filter(holds).length);
  return el("p", { class: "summary" }, `${count(lasting.length, "lasting memory", "lasting memories")}: ${tried} tried, ${wrong} disproved, ${unseen} never shown. ${count(rows.length - lasting.length, "memory", "memories")} of a single episode.`);
}

function status(row) {
  if (row.persistence === "ephemeral") return row.gone ? "ended" : "this episode";
  if (row.disproved) return "disproved";
  if (row.vetoed === true) return "hidden";
  if (row.gone) return "removed";
  return `${shorten(row.status, 20).toLowerCase()}${row.pinned === true ? ", pinned" : ""}`;
}

function link(at) {
  const [episode, turn] = parted(at);
  const last = run.episodes.get(episode)?.last_turn;
  if (last === undefined) return `${episode}:${turn}`;
  return turn > last ? turnLink(episode, last, `${episode}, end`) : turnLink(episode, turn, `${episode}:${turn}`);
}

function opened(row) {
  const inner = el("div", {}, el("p", { class: "quiet" }, "Loading…"));
  place(row.place).then(({ threads }) => {
    const thread = threads[row.thread] ?? [];
    inner.replaceChildren(prose(thread.at(-1)?.memory.text, "fact"), el("p", { class: "quiet" }, "History"), history(thread), ...turns(row));
  }).catch((error) => inner.replaceChildren(el("p", { class: "empty" }, error.message)));
  return inner;
}

function turns(row) {
  if (!row.shown) return [el("p", { class: "quiet" }, "Never shown to the player")];
  const rest = row.shown - row.shown_turns.length;
  return [el("p", { class: "quiet" }, `Shown to the player in ${count(row.shown, "turn")}`), el("p", { class: "times" },
    row.shown_turns.flatMap(([episode, turn]) => [turnLink(episode, turn, `${episode}:${turn}`), " "]), rest > 0 && `and ${rest} more`)];
}
