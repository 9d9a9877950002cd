// The search in an exported file, which has no server. The answers have the same format.
import { allAnswers } from "./api.js";
import { MARK, moment, parted } from "./run.js";

const SHOWN = 100;
const AROUND = 60;
const FIELDS = ["action", "location", "location_after", "reasoning", "refused", "fault", "response"];
const KINDS = ["memory", "prompt", "turn"];
const MODEL_ERROR = 1 << 30;
// Filters for turns, by their marks.
const WANTED = { score: MARK.scored, death: MARK.died, refusal: MARK.refused | MARK.rejected, contradiction: MARK.contested, error: MODEL_ERROR };
// Filters for lasting memories, by the marks of their versions.
const FATES = ["learned", "disproved"];

let answers = null;
let marks = null;

export async function searchExported(query, only, start) {
  answers ??= Object.entries(await allAnswers()).map(([path, answer]) => [path.split("/"), answer]);
  marks ??= marked();
  const words = query.trim().toLowerCase();
  const fates = only.filter((name) => FATES.includes(name));
  const wanted = only.reduce((bits, name) => bits | (WANTED[name] ?? 0), 0);
  const found = words || only.length ? [...(wanted || !fates.length ? turns(words, wanted) : []), ...memories(words, wanted, fates)] : [];
  found.sort((one, other) => one.episode - other.episode || one.turn - other.turn || KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind));
  return { from: start, hits: found.map(({ episode, turn }) => moment(episode, turn)), rows: found.slice(start, start + SHOWN).map((hit) => ({ ...hit, ...snippet(hit.texts, words) })) };
}

// The answers of a kind, with the number of their episode.
function answersOf(kind) {
  return answers.filter(([path]) => path[0] === "episodes" && path[2] === kind).map(([path, answer]) => [Number(path[1]), answer]);
}

// Turn → its marks.
function marked() {
  const columns = new Map(answersOf("columns").map(([episode, answer]) => [episode, answer.columns]));
  return new Map(answersOf("pages").flatMap(([episode, { from, rows }]) => rows.map((row, index) =>
    [moment(episode, row.turn), columns.get(episode).marks[from + index] | (row.calls.some((call) => call.error !== null) ? MODEL_ERROR : 0)])));
}

function holds(at, wanted) {
  return !wanted || (marks.get(at) & wanted) !== 0;
}

function turns(words, wanted) {
  const run = answers.find(([[name]]) => name === "run")[1];
  const openings = wanted ? [] : run.episodes.map((row) => ({ episode: row.episode, turn: 0, kind: "turn", place: row.location_id, title: "", texts: [row.opening] }));
  const played = answersOf("pages").flatMap(([episode, { rows }]) => rows.map((row) => ({ episode, turn: row.turn, kind: "turn", place: row.location_id, title: row.action ?? "",
    texts: [...FIELDS.map((name) => row[name] ?? ""), ...row.memory_events.flatMap((event) => [event.title ?? "", event.text ?? ""])].map(String) })));
  const asked = !words ? [] : answersOf("calls").map(([episode, call]) => ({ episode, turn: call.turn, kind: "prompt", title: call.role,
    texts: [...call.messages.map((message) => message.content), call.answer, call.reasoning, call.error ?? ""] }));
  return [...openings, ...[...played, ...asked].filter(({ episode, turn }) => holds(moment(episode, turn), wanted))].filter(({ texts }) => contain(texts, words));
}

function contain(texts, words) {
  return texts.some((text) => text.toLowerCase().includes(words));
}

function memories(words, wanted, fates) {
  const found = [];
  for (const { id, threads } of answers.filter(([[kind]]) => kind === "places").map(([, answer]) => answer)) {
    for (const [version, before] of threads.flatMap((thread) => thread.map((one, index) => [one, thread[index - 1]?.memory ?? {}]))) {
      const { memory, at } = version;
      const hasFate = fates.some((name) => version[name]);
      if (!hasFate && (!words || (fates.length && !wanted))) continue;
      // For a learned or disproved memory, search all fields. Otherwise, search only the changed ones.
      const texts = [version.reason, ...["text", "title"].map((name) => (hasFate || memory[name] !== before[name] ? memory[name] : ""))].map((value) => String(value ?? ""));
      const [episode, turn] = parted(at);
      if (contain(texts, words) && (hasFate || holds(at, wanted))) found.push({ episode, turn, kind: "memory", place: id, title: memory.title ?? "", texts: words ? texts : [texts[0] || texts[1]] });
    }
  }
  return found;
}

function snippet(texts, words) {
  for (const text of words ? texts : []) {
    const at = text.toLowerCase().indexOf(words);
    if (at >= 0) return { before: text.slice(Math.max(0, at - AROUND), at), match: text.slice(at, at + words.length), after: text.slice(at + words.length).slice(0, AROUND) };
  }
  return { before: "", match: "", after: words ? "" : (texts.at(-1) ?? "").slice(0, 2 * AROUND) };
}
