// What an action was based on: recorded trials, and memories and goals that its reason mentions.
import { placeOfKey, roomName, run } from "./run.js";

const MOST_PLACES = 3;
const FEW = new Set(["about", "after", "again", "all", "and", "any", "are", "before", "but", "can", "earlier", "episode", "every", "first", "for", "from", "get", "has", "have", "here",
  "into", "its", "not", "now", "one", "only", "out", "over", "place", "scores", "scored", "sight", "take", "taken", "that", "the", "then", "there", "these", "this", "through", "too", "try", "tried",
  "was", "way", "what", "when", "where", "which", "while", "with", "works", "you", "your"]);

function plain(words) {
  return String(words ?? "").toLowerCase().replace(/\s+/g, " ").trim();
}

function contentWords(words) {
  return [...new Set(plain(words).match(/[\p{L}\p{N}]{3,}/gu) ?? [])].filter((word) => !FEW.has(word));
}

function reasonOf(row) {
  return plain(row.reasoning);
}

// The number of words, and how many of them occur in the reason.
function share(words, row) {
  const said = new Set(contentWords(row.reasoning));
  const wanted = contentWords(words);
  return { wanted: wanted.length, found: wanted.filter((word) => said.has(word)).length };
}

// Whether the reason quotes a command.
function quotes(command, row) {
  const reason = reasonOf(row);
  return command !== "" && ["''", "“”", "\"\"", "‘’"].some(([before, after]) => reason.includes(before + command + after));
}

// The place of the turn, and places with a unique name that its reason mentions.
export function placesInReason(row) {
  const reason = reasonOf(row);
  const places = Object.keys(run.names).map(placeOfKey).filter((id) => !id.subject);
  const names = places.map((id) => [id, plain(roomName(id))]);
  const named = names.filter(([id, name]) => id !== row.location_id && name.length > 3 && reason.includes(name)).map(([id]) => id);
  return [row.location_id, ...named.slice(0, MOST_PLACES)].filter((id) => id !== null);
}

// Why the action is considered to be based on a memory, or "" if it is not.
export function memoryRelied(memory, id, row) {
  const trial = row.trials?.find((one) => one.place === id && one.title === memory.title);
  if (trial) return trial.worked ? "followed, and the outcome matched" : "followed, but the outcome did not match";
  const here = id === row.location_id;
  if (here && !String(row.memory_shown ?? "").includes(`] ${memory.title}:`)) return "";
  if (here && memory.action && plain(memory.action) === plain(row.action)) return "the action is its command";
  if (quotes(plain(memory.action), row)) return "its command is quoted in the reason";
  const { wanted, found } = share(memory.title, row);
  return here && wanted > 1 && found === wanted ? "mentioned in the reason" : "";
}

export function objectiveRelied(one, row) {
  if (one === null || typeof one !== "object") return "";
  const { wanted, found } = share(one.text, row);
  return wanted > 1 && found === wanted ? "mentioned in the reason" : "";
}

// Lines of the knowledge that the reason quotes, or most of whose words occur in it.
export function knowledgeLines(text, row) {
  if (!row.reasoning) return [];
  return String(text ?? "").split("\n").filter((line) => /^\s*[-*] /.test(line)).map((line) => line.replace(/^\s*[-*] /, "").replace(/\s*\*\([^()]*\)\*\s*$/, "")).filter((line) => {
    const { wanted, found } = share(line, row);
    return quotes(line, row) || (found > 2 && found / wanted >= 0.6);
  });
}
