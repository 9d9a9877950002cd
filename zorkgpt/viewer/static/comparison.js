// Compares episodes: where they diverge and meet again, by place and by score.
import { MARK } from "./run.js";

// The pairs [index in one, index in other] of a longest common subsequence that includes the common prefix and matches as
// early as possible. The bits of a number are a row of the table: Hyyrö, Bit-parallel LCS-length computation revisited.
export function common(one, other) {
  let start = 0;
  while (start < Math.min(one.length, other.length) && one[start] === other[start]) start += 1;
  const pairs = one.slice(0, start).map((_, index) => [index, index]);
  // The sequences are reversed, because tracing the table back prefers the latest pairs.
  const [across, down] = [one.slice(start).reverse(), other.slice(start).reverse()];
  const rows = table(across, down);
  const ends = (row, column) => (rows[row - 1] >> BigInt(column - 1)) & 1n;
  for (let [column, row] = [across.length, down.length]; column && row;) {
    if (ends(row, column)) column -= 1;
    else if (row > 1 && !ends(row - 1, column)) row -= 1;
    else pairs.push([one.length - column--, other.length - row--]);
  }
  return pairs;
}

function table(across, down) {
  const all = (1n << BigInt(across.length)) - 1n;
  const places = new Map();
  across.forEach((key, index) => places.set(key, (places.get(key) ?? 0n) | (1n << BigInt(index))));
  let row = all;
  return down.map((key) => {
    const found = row & (places.get(key) ?? 0n);
    row = ((row + found) | (row - found)) & all;
    return row;
  });
}

// Rows with an index, or null, for each sequence. The elements of a row have the same key.
export function aligned(sequences) {
  let rows = [];
  sequences.forEach((sequence, number) => {
    const absent = Array(number).fill(null);
    const merged = [];
    let [row, at] = [0, 0];
    for (const [pairedRow, pairedAt] of [...common(rows.map(({ key }) => key), sequence), [rows.length, sequence.length]]) {
      for (; row < pairedRow; row++) merged.push({ key: rows[row].key, at: [...rows[row].at, null] });
      for (; at < pairedAt; at++) merged.push({ key: sequence[at], at: [...absent, at] });
      if (row < rows.length) merged.push({ key: rows[row].key, at: [...rows[row++].at, at++] });
    }
    rows = merged;
  });
  return rows.map(({ at }) => at);
}

// An episode to compare has its number and its columns.
// A stay is a sequence of turns at one place, from position `first` to `last`.
function stays({ columns }) {
  const found = [];
  columns.places.forEach((place, index) => {
    if (found.length && found.at(-1).place === place) found.at(-1).last = index + 1;
    else found.push({ place, first: index + 1, last: index + 1 });
  });
  return found;
}

// The stays of all episodes. Stays at the same place share a row if their order allows it.
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

function outcome({ columns }, at) {
  return { at, turn: columns.turns[at - 1], action: columns.actions[at - 1], after: columns.places_after[at - 1], score: columns.scores[at - 1], gain: gain(columns, at), died: Boolean(columns.marks[at - 1] & MARK.died) };
}

function gain({ scores, marks }, at) {
  return marks[at - 1] & MARK.scored ? (scores[at - 1] ?? 0) - (scores[at - 2] ?? 0) : 0;
}

function same(one, other) {
  return one.length === other.length && one.every((mine, index) => ["action", "after", "score"].every((name) => mine[name] === other[index][name]));
}

// The scoring actions, in the order in which they first scored. The same action at the same place is one row.
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

// The first difference between two episodes: the number of turns that are the `same`, and `by`, the kind of difference.
// Null if the episodes are identical.
export function parting(one, other) {
  const [mine, theirs] = [one, other].map(({ columns }) => columns.turns.length);
  for (let at = 1; at <= Math.min(mine, theirs); at++) {
    const [a, b] = [outcome(one, at), outcome(other, at)];
    const by = a.action !== b.action ? "action" : one.columns.places[at - 1] !== other.columns.places[at - 1] || !same([a], [b]) ? "outcome" : null;
    if (by) return { same: at - 1, by };
  }
  return mine === theirs ? null : { same: Math.min(mine, theirs), by: "end" };
}
