// One memory: its state at a turn, its text, class, status and history.
import { el, folded, prose, shorten, shown, turnLink } from "./dom.js";
import { parted, run } from "./run.js";

export function stateAt(thread, at) {
  const versions = thread.filter((version) => version.at <= at);
  if (!versions.length) return null;
  const { memory, gone = false } = versions.at(-1);
  return { memory, gone, versions, later: thread.length - versions.length };
}

export function memoriesAt(threads, at) {
  return threads.map((thread) => ({ ...stateAt(thread, at), thread })).filter((state) => state.memory && !state.gone).sort(byWeight);
}

// Whether the memory can be shown to the player.
export function believed(state) {
  return state.memory.status !== "SUPERSEDED" && !state.memory.vetoed;
}

function byWeight(one, other) {
  return rank(one.memory) - rank(other.memory) || timesSeen(other.memory) - timesSeen(one.memory);
}

export function timesSeen(memory) {
  return Number.isFinite(memory.observation_count) ? memory.observation_count : 1;
}

function rank(memory) {
  if (memory.pinned) return -1;
  if (memory.category === "DANGER") return 0;
  return memory.persistence === "core" ? 2 : 1;
}

const CLASSES = new Map(Object.entries({
  core: ["core", "True at the start of every episode"],
  permanent: ["permanent", "How the game works: true in every episode"],
  ephemeral: ["this episode", "Changed by the player: forgotten after this episode"],
}));
// Ephemeral memories end on this turn.
const LAST_TURN = 999_999;
const KIND_NAMES = { added: "added", "seen again": "seen again", invalidated: "marked as wrong", vetoed: "hidden", unvetoed: "shown again", contested: "contradicted", qualified: "limited to a state", credited: "followed" };
const SOURCES = { hand: "edited in the file", person: "edited by a person", baseline: "present at the start", recovered: "recovered after a crash" };
const KINDS = new Set(["SUCCESS", "FAILURE", "DISCOVERY", "DANGER", "NOTE"]);

// `relied` says why the action of this turn is considered to be based on the memory, or "".
export function memoryCard({ memory, versions, later }, tools = [], relied = "") {
  const kind = KINDS.has(memory.category) ? memory.category.toLowerCase() : "note";
  const card = el("article", { class: `memory ${kind} ${memory.status === "ACTIVE" ? "" : shorten(memory.status, 20).toLowerCase()}${relied && " relied"}` });
  if (relied) card.append(el("p", { class: "relied-on" }, `Used: ${relied}`));
  card.append(el("h4", { dir: "auto" }, shorten(memory.title, 200)), chips(memory), prose(memory.text, "fact"));
  if (memory.status === "SUPERSEDED") card.append(fate(memory));
  card.append(el("footer", {}, folded(`History (${versions.length}${later ? `, ${later} later` : ""})`, () => history(versions)), ...tools));
  return card;
}

function chips(memory) {
  const [name, meaning] = CLASSES.get(memory.persistence) ?? [shorten(memory.persistence, 24), ""];
  const seen = timesSeen(memory);
  return el("p", { class: "chips" },
    el("span", { class: "chip kind" }, shorten(memory.category, 24)),
    memory.kind && el("span", { class: "chip" }, shorten(memory.kind, 24)),
    el("span", { class: `chip class ${shorten(memory.persistence, 12)}`, title: meaning }, name),
    memory.status !== "ACTIVE" && el("span", { class: "chip status" }, shorten(memory.status, 16).toLowerCase()),
    memory.pinned && el("span", { class: "chip pinned" }, "pinned"),
    memory.vetoed && el("span", { class: "chip vetoed" }, "hidden"),
    memory.results && el("span", { class: "chip" }, shorten(memory.results, 60)),
    el("span", { class: "chip quiet" }, seen > 1 ? `seen ${seen}×` : "seen once"),
    el("span", { class: "chip quiet" }, seenWhen(memory)),
  );
}

function seenWhen(memory) {
  const [first, last = first] = shorten(memory.turns, 48).split("→");
  const spoken = (episode, turn) => {
    const words = `episode ${shorten(episode, 24)}, turn ${shorten(turn, 24)}`;
    const number = /^\d{1,6}/.exec(turn)?.[0];
    return number && run.episodes.has(Number(episode)) ? turnLink(episode, number, words) : words;
  };
  const end = spoken(memory.episode, memory.first_episode == null ? shorten(memory.turns, 24) : last);
  return memory.first_episode == null ? [end] : [spoken(memory.first_episode, first), " → ", end];
}

function fate(memory) {
  const wrong = memory.superseded_by === "INVALIDATED";
  const words = wrong ? "Marked as wrong" : "Superseded by";
  const by = wrong ? "" : ` “${shorten(memory.superseded_by, 200)}”`;
  const reason = memory.invalidation_reason ? `: ${shorten(memory.invalidation_reason, 500)}` : "";
  return el("p", { class: "fate", dir: "auto" }, `${words}${by}${reason}`);
}

export function history(versions) {
  return el("ol", { class: "versions" }, versions.map((version) => {
    const [episode, turn] = parted(version.at);
    const item = el("li", {}, el("span", { class: "when" }, turn < LAST_TURN ? turnLink(episode, turn, `${episode}:${turn}`) : `${episode}`), el("b", {}, ` ${shorten(KIND_NAMES[version.kind] ?? version.kind, 40)}`));
    if (version.source) item.append(el("span", { class: "quiet" }, ` (${SOURCES[version.source] ?? shorten(version.source, 30)})`));
    if (version.reason) item.append(prose(version.reason, "reason"));
    if (version.other) item.append(el("p", { class: "quiet", dir: "auto" }, `Compared with “${shorten(version.other.title, 120)}”: ${shown(version.other.text)}`));
    return item;
  }));
}

// Two texts side by side.
export function beside(title, text, otherTitle, otherText, names) {
  const side = (name, heading, words) => el("div", { class: "side" }, el("span", { class: "quiet" }, name),
    el("b", { dir: "auto" }, shorten(heading, 160)), prose(words, "fact"));
  return el("div", { class: "sides" }, side(names[0], title, text), side(names[1], otherTitle, otherText));
}
