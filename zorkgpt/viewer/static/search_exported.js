// The search in an exported file, which has no server. The answers have the same format.
import { allAnswers } from "./api.js";

const SHOWN = 100;
const AROUND = 60;
const SPAN = 1_000_000;
const FIELDS = ["action", "location", "location_after", "reasoning", "refused", "fault", "response"];
const KINDS = ["memory", "prompt", "turn"];
const HOLDS = {
  score: (row) => row.score !== null && row.score_before !== null && row.score !== row.score_before,
  death: (row) => row.died,
  refusal: (row) => Boolean(row.refused || row.fault || row.rejections.length),
  contradiction: (row) => row.memory_events.some((event) => event.kind === "contested"),
  error: (row) => row.calls.some((call) => call.error !== null),
};

// Filters for lasting memories, by their history.
const FATES = {
  learned: (thread, version) => version === thread[0],
  disproved: (thread, version, memory) => memory.superseded_by === "INVALIDATED" && version === thread.findLast(({ set }) => "superseded_by" in set),
};

let answers = null;
let rows = null;

export async function searchExported(query, only, start) {
  answers ??= await allAnswers();
  const words = query.trim().toLowerCase();
  if (!words && !only.length) return { from: start, hits: [], rows: [] };
  const fates = only.filter((name) => FATES[name]);
  const events = only.filter((name) => HOLDS[name]);
  const withTurns = events.length > 0 || !fates.length;
  const found = [...(withTurns ? turns(words, events) : []), ...(withTurns && words ? prompts(words, events) : []), ...memories(words, events, fates)];
  found.sort((one, other) => one.episode - other.episode || one.turn - other.turn || KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind));
  return { from: start, hits: found.map((hit) => hit.episode * SPAN + hit.turn), rows: found.slice(start, start + SHOWN).map((hit) => ({ ...hit, ...snippet(hit.texts, words) })) };
}

function all() {
  if (rows) return rows;
  rows = new Map();
  for (const [path, answer] of Object.entries(answers)) {
    const episode = /^episodes\/(\d+)\/pages\/\d+$/.exec(path)?.[1];
    for (const row of episode ? answer.rows : []) rows.set(`${episode}:${row.turn}`, row);
  }
  return rows;
}

function holds(row, only) {
  return !only.length || (row !== undefined && only.some((name) => HOLDS[name]?.(row)));
}

function turns(words, only) {
  const found = answers.run.episodes.filter((row) => !only.length && row.opening.toLowerCase().includes(words))
    .map((row) => ({ episode: row.episode, turn: 0, kind: "turn", place: row.location_id, title: "", texts: [row.opening] }));
  for (const [key, row] of all()) {
    const texts = [...FIELDS.map((name) => row[name] ?? ""), ...row.memory_events.flatMap((event) => [event.title ?? "", event.text ?? ""])].map(String);
    if (holds(row, only) && texts.some((text) => text.toLowerCase().includes(words))) {
      found.push({ episode: Number(key.split(":")[0]), turn: row.turn, kind: "turn", place: row.location_id, title: row.action ?? "", texts });
    }
  }
  return found;
}

function prompts(words, only) {
  const found = [];
  for (const [path, call] of Object.entries(answers)) {
    const episode = /^episodes\/(\d+)\/calls\/\d+$/.exec(path)?.[1];
    if (!episode || !holds(all().get(`${episode}:${call.turn}`), only)) continue;
    const texts = [...call.messages.map((message) => message.content), call.answer, call.reasoning, call.error ?? ""];
    if (texts.some((text) => text.toLowerCase().includes(words))) found.push({ episode: Number(episode), turn: call.turn, kind: "prompt", title: call.role, texts });
  }
  return found;
}

function memories(words, events, fates) {
  const found = [];
  if (!words && !fates.length) return found;
  for (const [path, place] of Object.entries(answers)) {
    if (!path.startsWith("places/")) continue;
    for (const thread of place.threads) {
      let memory = {};
      for (const version of thread) {
        memory = { ...memory, ...version.set };
        const hasFate = memory.persistence !== "ephemeral" && fates.some((name) => FATES[name](thread, version, memory));
        if (!hasFate && (!words || (fates.length && !events.length))) continue;
        // For a learned or disproved memory, search all fields. Otherwise, search only the changed ones.
        const fields = hasFate ? memory : version.set;
        const said = [version.reason, fields.text, fields.title].map((value) => String(value ?? ""));
        const [episode, turn] = [Math.floor(version.at / SPAN), version.at % SPAN];
        if (said.some((text) => text.toLowerCase().includes(words)) && (hasFate || holds(all().get(`${episode}:${turn}`), events))) {
          found.push({ episode, turn, kind: "memory", place: place.id, title: memory.title ?? "", texts: words ? said : [said[0] || said[1]] });
        }
      }
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
