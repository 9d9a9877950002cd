// The search in an exported file, which has no server. The answers have the same format.
import { ask } from "./api.js";
import { moment } from "./run.js";

const SHOWN = 100;
const AROUND = 60;

export async function searchExported(query, only, start) {
  const words = query.trim().toLowerCase();
  const { events, items } = await ask("search");
  const wanted = only.reduce((bits, name) => bits | events[name], 0);
  const hits = [];
  for (const one of words || wanted ? items : []) {
    const its = one.events | (words ? one.events_of_turn : 0);
    if (wanted && !(its & wanted)) continue;
    const texts = one.texts ?? await textsOf(one);
    if (texts.some((text) => text.toLowerCase().includes(words))) hits.push({ ...one, texts });
  }
  return { from: start, hits: hits.map(({ episode, turn }) => moment(episode, turn)), rows: hits.slice(start, start + SHOWN).map((hit) => ({ ...hit, ...snippet(hit.texts, words) })) };
}

// The texts of a model call. None if the call is not in the file.
async function textsOf({ episode, call }) {
  const { messages, answer, reasoning, error } = await ask(`episodes/${episode}/calls/${call}`).catch(() => ({ messages: [] }));
  return [...messages.map(({ content }) => content), answer ?? "", reasoning ?? "", error ?? ""];
}

function snippet(texts, words) {
  const last = texts.findLast((text) => (words ? text.toLowerCase().includes(words) : text)) ?? "";
  if (!words) return { before: "", match: "", after: last.slice(0, 2 * AROUND) };
  const at = last.toLowerCase().indexOf(words);
  return { before: last.slice(Math.max(0, at - AROUND), at), match: last.slice(at, at + words.length), after: last.slice(at + words.length).slice(0, AROUND) };
}
