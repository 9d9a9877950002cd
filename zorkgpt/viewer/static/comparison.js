// Compares episodes: where they diverge and meet again, by place and by score.
import { aligned } from "./alignment.js";
import { MARK } from "./run.js";

// An episode to compare: its number, its columns and the actions of its turns.
// A stay is what was done at one place until the player went on: positions of turns, from `first` to `last`.
function stays({ columns }) {
  const found = [];
  columns.places.forEach((place, index) => {
    if (found.length && found.at(-1).place === place) found.at(-1).last = index + 1;
    else found.push({ place, first: index + 1, last: index + 1 });
  });
  return found;
}

// The stays of all episodes, those at the same place in one row as far as their order allows.
export function byPlace(episodes) {
  const all = episodes.map(stays);
  return aligned(all.map((list) => list.map(({ place }) => place))).map((at) => {
    const cells = at.map((index, number) => (index === null ? null : all[number][index]));
    const done = cells.map((stay, number) => stay && outcomes(episodes[number], stay));
    const deeds = done.map((list) => new Set((list ?? []).map(({ action }) => action)));
    const own = (action, number) => deeds.every((others, other) => other === number || !others.has(action));
    return {
      place: cells.find(Boolean).place, cells,
      done: done.map((list, number) => list && list.map((one) => ({ ...one, own: cells.filter(Boolean).length > 1 && own(one.action, number) }))),
      alike: done.every((list) => list && same(list, done[0])),
    };
  });
}

function outcomes(episode, { first, last }) {
  return Array.from({ length: last - first + 1 }, (_, index) => outcome(episode, first + index));
}

function outcome({ columns, actions }, at) {
  return { at, turn: columns.turns[at - 1], action: actions[at - 1], after: columns.places_after[at - 1], score: columns.scores[at - 1], gain: gain(columns, at), died: Boolean(columns.marks[at - 1] & MARK.died) };
}

function gain({ scores, marks }, at) {
  return marks[at - 1] & MARK.scored ? (scores[at - 1] ?? 0) - (scores[at - 2] ?? 0) : 0;
}

function same(one, other) {
  return one.length === other.length && one.every((mine, index) => ["action", "after", "score"].every((name) => mine[name] === other[index][name]));
}

// What changed the score, in the order in which it first did: the same action at the same place stands in one row.
export function byScore(episodes) {
  const rows = new Map();
  episodes.forEach((episode, number) => {
    const times = new Map();
    let before = 0;
    for (let at = 1; at <= episode.columns.turns.length; at++) {
      const one = outcome(episode, at);
      if (!one.gain) continue;
      const place = episode.columns.places[at - 1];
      const way = JSON.stringify([place, one.action, one.gain]);
      times.set(way, (times.get(way) ?? 0) + 1);
      const key = `${way}${times.get(way)}`;
      if (!rows.has(key)) rows.set(key, { place, action: one.action, gain: one.gain, cells: episodes.map(() => null) });
      rows.get(key).cells[number] = { ...one, since: one.turn - before };
      before = one.turn;
    }
  });
  const earliest = ({ cells }) => Math.min(...cells.filter(Boolean).map(({ turn }) => turn));
  return [...rows.values()].sort((one, other) => earliest(one) - earliest(other));
}

// The first turn on which two episodes differ in action or outcome: `same` is the number of turns before it, `by` says in what;
// null if they never do.
export function parting(one, other) {
  const [mine, theirs] = [one, other].map(({ columns }) => columns.turns.length);
  for (let at = 1; at <= Math.min(mine, theirs); at++) {
    const [a, b] = [outcome(one, at), outcome(other, at)];
    const by = a.action !== b.action ? "action" : one.columns.places[at - 1] !== other.columns.places[at - 1] || !same([a], [b]) ? "outcome" : null;
    if (by) return { same: at - 1, by };
  }
  return mine === theirs ? null : { same: Math.min(mine, theirs), by: "end" };
}
