// Visits, deaths or points of each room up to the selected turn, over all episodes.
import { count } from "./dom.js";
import { askOnce } from "./api.js";
import { MARK, columnsOf, placesOf, run, view } from "./run.js";

// The name of a measure in the address, in the list to choose from, and in words.
export const HEATS = [["none", "Colors: none", ""], ["visits", "Visits", "Visits"], ["deaths", "Deaths", "Deaths"], ["score", "Score", "Points"]];
const MEASURES = ["visits", "deaths", "score"];
const WORDS = { visits: "visit", deaths: "death", score: "point" };

export function said(measure, amount) {
  return count(amount, WORDS[measure]);
}

// Room → amount; null where nothing is counted. Earlier episodes are told as a whole, this one is counted up to its turn.
export async function heatAt() {
  const measure = MEASURES.indexOf(view.heat);
  if (measure < 0) return null;
  const { episodes } = await askOnce("heat", [...run.episodes.values()].map((row) => `${row.generation}.${row.count}`).join());
  const found = new Map();
  for (const [episode, places] of Object.entries(episodes)) {
    if (Number(episode) >= view.episode) continue;
    for (const [key, amounts] of Object.entries(places)) add(found, JSON.parse(key), amounts[measure]);
  }
  countEpisode(found, view.heat);
  return found;
}

function add(found, place, amount) {
  if (place !== null && place !== undefined && amount) found.set(place, (found.get(place) ?? 0) + amount);
}

function countEpisode(found, measure) {
  const columns = columnsOf(view.episode);
  if (!columns) return;
  if (measure === "visits") add(found, placesOf(view.episode, 0)[1], 1);
  for (let at = 0; at < view.at; at++) {
    const [place, after, marks] = [columns.places[at], columns.places_after[at], columns.marks[at]];
    if (measure === "visits") add(found, after, after === place ? 0 : 1);
    else if (measure === "deaths") add(found, place, marks & MARK.died ? 1 : 0);
    else if (marks & MARK.scored) add(found, place, (columns.scores[at] ?? 0) - (columns.scores[at - 1] ?? 0));
  }
}
