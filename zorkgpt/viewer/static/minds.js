// Objectives and knowledge, as they stood at the turn.
import { el, fill, folded, prose, shorten } from "./dom.js";
import { askOnce } from "./api.js";
import { current, run, turnNumber, view } from "./run.js";

let objectives;
let knowledge;

export function startMinds(objectivesBox, knowledgeBox) {
  objectives = objectivesBox;
  knowledge = knowledgeBox;
}

export async function updateMinds() {
  if (!current()?.columns) return;
  const key = `${view.episode}.${view.at}.${current().notes}`;
  if (objectives.dataset.key === key) return;
  const aim = await latest("objectives_updated", false);
  const known = await latest("knowledge_updated", true);
  if (key !== `${view.episode}.${view.at}.${current().notes}`) return;
  fill(objectives, key, aim ? [el("h3", {}, "Objectives"), ...note(aim.note, aim.episode)] : []);
  fill(knowledge, key, known ? [el("h3", {}, "Knowledge"), ...note(known.note, known.episode)] : []);
}

// The last of its kind up to the turn; knowledge outlives its episode.
async function latest(kind, outlives) {
  for (const number of [...run.episodes.keys()].reverse()) {
    const row = run.episodes.get(number);
    if (number > view.episode || (number < view.episode && !outlives) || !row.notes) continue;
    const { notes } = await askOnce(`episodes/${number}/notes`, String(row.notes)).catch(() => ({ notes: [] }));
    const until = number === view.episode ? turnNumber() : Infinity;
    const found = notes.filter((one) => one.kind === kind && one.turn <= until).at(-1);
    if (found) return { note: found, episode: number };
  }
  return null;
}

function note(row, episode) {
  const when = el("p", { class: "quiet" }, `since episode ${episode}, turn ${row.turn}`);
  return [when, ...Object.entries(row).filter(([name]) => !["turn", "kind", "time", "player"].includes(name)).map(([name, value]) => shownField(name, value))];
}

function shownField(name, value) {
  if (Array.isArray(value)) return value.length ? el("div", {}, heading(name), el("ul", { class: "lines" }, value.map(line))) : null;
  const words = String(value);
  if (words.length > 400) return folded(shorten(name.replaceAll("_", " "), 40), () => prose(words, "verbatim"), { open: true });
  return words ? el("p", { class: "quiet", dir: "auto" }, `${name.replaceAll("_", " ")}: ${shorten(words, 400)}`) : null;
}

function heading(name) {
  return el("h4", {}, shorten(name.replaceAll("_", " "), 40));
}

function line(one) {
  if (typeof one !== "object") return el("li", { dir: "auto" }, shorten(one, 600));
  const { text, title, name, ...rest } = one;
  const more = Object.entries(rest).filter(([, value]) => value !== null && value !== "" && typeof value !== "object");
  return el("li", { dir: "auto" }, shorten(text ?? title ?? name ?? "", 600), more.length > 0 && el("span", { class: "quiet" }, ` ${more.map(([key, value]) => `${key.replaceAll("_", " ")} ${shorten(value, 120)}`).join(", ")}`));
}
