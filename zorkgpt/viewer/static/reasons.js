// What an action relied on, by what was counted and by the words of its reason; whether a player thought of it nobody can see.
import { roomName, run } from "./run.js";

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

// How many of the words stand in the reason, as whole words.
function share(words, row) {
  const said = new Set(contentWords(row.reasoning));
  const wanted = contentWords(words);
  return { wanted: wanted.length, found: wanted.filter((word) => said.has(word)).length };
}

// A command that a title quotes, quoted in the reason as well.
function quotes(title, row) {
  const reason = reasonOf(row);
  const commands = [...plain(title).matchAll(/[“"'‘]([^“”"‘’']{3,})[”"'’]/g)].map((match) => match[1]);
  return commands.some((command) => ["''", "“”", "\"\"", "‘’"].some(([before, after]) => reason.includes(before + command + after)));
}

// The place of the turn, and those that its reason names, where only one is called that.
export function placesInReason(row) {
  const reason = reasonOf(row);
  const names = Object.keys(run.names).map((key) => [JSON.parse(key), plain(roomName(JSON.parse(key)))]);
  const named = names.filter(([id, name]) => id !== row.location_id && name.length > 3 && reason.includes(name) && names.filter(([, other]) => other === name).length === 1).map(([id]) => id);
  return [row.location_id, ...named.slice(0, MOST_PLACES)].filter((id) => id !== null);
}

// Why a memory counts as relied on, in words; "" if nothing shows it.
export function memoryRelied(memory, id, row) {
  const trial = row.trials?.find((one) => one.place === id && one.title === memory.title);
  if (trial) return trial.worked ? "the action followed it, and it held" : "the action followed it, and it did not hold";
  const here = id === row.location_id;
  if (here && !String(row.memory_shown ?? "").includes(`] ${memory.title}:`)) return "";
  if (here && memory.action && plain(memory.action) === plain(row.action)) return "the action is its command";
  if (quotes(memory.title, row)) return "the reason quotes its command";
  const { wanted, found } = share(memory.title, row);
  return here && wanted > 1 && found === wanted ? "the reason names it" : "";
}

export function objectiveRelied(one, row) {
  if (one === null || typeof one !== "object") return "";
  const { wanted, found } = share(one.text, row);
  return wanted > 1 && found === wanted ? "its words stand in the reason" : "";
}

// The lines of the knowledge most of whose words stand in the reason.
export function knowledgeLines(text, row) {
  if (!row.reasoning) return [];
  return String(text ?? "").split("\n").filter((line) => /^\s*[-*] /.test(line)).map((line) => line.replace(/^\s*[-*] /, "").replace(/\s*\*\([^()]*\)\*\s*$/, "")).filter((line) => {
    const { wanted, found } = share(line, row);
    return quotes(line, row) || (found > 2 && found / wanted >= 0.6);
  });
}
