// The state of the run and of the page. Panels are updated when either changes.
import { Unanswered, ask, askOnce, exported } from "./api.js";

const SPAN = 1_000_000;
const POLL_MS = 500;
const LONGEST_POLL_MS = 8000;
export const MARK = { failed: 1, died: 2, victory: 4, refused: 8, rejected: 16, wrote: 32, repeated: 64, contested: 128, scored: 256 };

// `version` changes with every change of the run. `connected` is false if the viewer doesn't respond. `missing`, `undone`, `done` and `lost` are messages: failed updates, the last failed and the last successful action,
// and an address that can't be opened. `damage` lists damaged files.
export const run = { version: "", name: "", episodes: new Map(), names: {}, map: 0, memory: 0, pageTurns: 20, edit: false, connected: true, damage: [], missing: "", undone: "", done: "", lost: "" };
// The options of the view, with their usual values, and the view.
// `at` is the number of turns played: 0 is the opening. `place` is the selected place, null for the place of the turn.
// `screen` is "turn", "overview" or "memories"; `sort` and `from` (an episode) order and filter the memories. `panel` is the open panel on a narrow screen, `tab` the memory tab.
// `beside` are the episodes to compare with, or null; `by` is "place" or "score".
// `heat` is the measure that colors the map, `large` whether the map fills the window.
// `find` is the search text, null if the search is closed; `only` are its filters.
export const USUAL = { place: null, beside: null, panel: "transcript", tab: "memories", find: null, only: [], sort: "place", by: "place", heat: "none", large: false, from: null };
export const view = { screen: "turn", episode: 0, at: 0, following: true, ...USUAL };
const listeners = [];
const finishers = [];
let announced = false;
let rounds = 0;
let latestEnded = 0;

export function listen(update) {
  listeners.push(update);
}

// Registers a function to call after all panels are updated.
export function finish(act) {
  finishers.push(act);
}

export function announce() {
  if (announced) return;
  announced = true;
  requestAnimationFrame(() => {
    announced = false;
    updateAll();
  });
}

// A panel whose request fails keeps its content until a later round.
async function updateAll() {
  const round = ++rounds;
  const ends = await Promise.allSettled(listeners.map(async (update) => update()));
  for (const act of finishers) act();
  // A late answer may have replaced newer content.
  if (round < latestEnded) announce();
  latestEnded = Math.max(latestEnded, round);
  const missing = ends.map(({ reason }) => reason).filter(Boolean).map(words)[0] ?? "";
  if (round !== rounds || missing === run.missing) return;
  run.missing = missing;
  announce();
}

function words(error) {
  if (!(error instanceof Unanswered)) queueMicrotask(() => { throw error; });
  return error.message;
}

// Runs a user's action. If it fails, shows the reason.
export async function attempt(act) {
  const undone = await act().then(() => "", (error) => {
    // The message is hidden when the viewer responds again.
    if (error instanceof Unanswered && error.status === undefined && !exported) run.connected = false;
    return words(error);
  });
  if (undone === run.undone) return;
  run.undone = undone;
  announce();
}

export function moment(episode, turn) {
  return episode * SPAN + turn;
}

export function parted(at) {
  return [Math.floor(at / SPAN), at % SPAN];
}

// The key of a place (a number or text) or another subject, as used in addresses and `run.names`.
export function placeKey(id) {
  return id?.subject ?? JSON.stringify(id);
}

export function placeOfKey(key) {
  return /^(game|thing \d{1,18})$/.test(key) ? { subject: key } : JSON.parse(key);
}

export function roomName(id) {
  if (id === null || id === undefined) return "unknown place";
  return run.names[placeKey(id)] || (id.subject ?? (typeof id === "string" ? id : `Room ${id}`));
}

export function current() {
  return run.episodes.get(view.episode);
}

export function columnsOf(episode) {
  return run.episodes.get(episode)?.columns;
}

// The number of the turn at a position, 0 for the opening.
export function turnNumber(episode = view.episode, at = view.at) {
  return at > 0 ? columnsOf(episode)?.turns[at - 1] ?? at : 0;
}

export function now() {
  return moment(view.episode, turnNumber());
}

// The player's places before and after the turn.
export function placesOf(episode = view.episode, at = view.at) {
  const columns = columnsOf(episode);
  if (!columns || at === 0) {
    const start = run.episodes.get(episode)?.location_id ?? columns?.places[0] ?? null;
    return [start, start];
  }
  return [columns.places[at - 1], columns.places_after[at - 1]];
}

// `open` opens the view in the address, once the run is loaded.
export async function start(open) {
  takeRun(await ask("run"));
  await open();
  announce();
  if (!exported) follow();
}

// Reads the run again whenever it has changed.
async function follow() {
  for (let wait = POLL_MS; ; wait = run.connected ? POLL_MS : Math.min(2 * wait, LONGEST_POLL_MS)) {
    await new Promise((done) => setTimeout(done, wait));
    const before = [run.version, run.connected].join();
    try {
      const answer = await ask(`run?known=${run.version}`);
      if (answer.version !== run.version) {
        takeRun(answer);
        await keepUp();
      }
      if (!run.connected) run.undone = "";
      Object.assign(run, { version: answer.version, connected: true });
    } catch {
      run.connected = false;
    }
    if ([run.version, run.connected].join() !== before) announce();
  }
}

function takeRun(answer) {
  Object.assign(run, { name: answer.name, names: answer.names, map: answer.map, memory: answer.memory });
  Object.assign(run, { damage: answer.damage, pageTurns: answer.page_turns });
  run.edit = Boolean(answer.edit);
  for (const row of answer.episodes) takeEpisode(row);
}

function takeEpisode(row) {
  const known = run.episodes.get(row.episode);
  if (known) Object.assign(known, row);
  else {
    run.episodes.set(row.episode, row);
    run.episodes = new Map([...run.episodes].sort(([one], [other]) => one - other));
  }
}

export async function show(episode, at, following = false) {
  view.screen = "turn";
  await look(episode, at, following);
}

export function openScreen(screen) {
  Object.assign(view, { screen, from: null });
  announce();
}

// Whether the run seems to have ended.
export function isOver() {
  const row = [...run.episodes.values()].at(-1);
  return exported || (row !== undefined && (row.reason !== null || row.quiet || row.cut_short));
}

async function look(episode, at, following = false) {
  const columns = await load(episode);
  if (view.episode !== episode) view.place = null;
  if (view.episode !== episode || view.at !== at) run.done = "";
  Object.assign(view, { episode, following, at: Math.max(0, Math.min(at, columns.turns.length)) });
  announce();
}

export function go(at, following = false) {
  const length = current()?.columns?.turns.length ?? 0;
  const next = Math.max(0, Math.min(at, length));
  if (next !== view.at) {
    view.place = null;
    run.done = "";
  }
  Object.assign(view, { at: next, following: following || (view.following && next === length) });
  announce();
}

// The position of the turn with this number, or null if there is none.
export async function positionOf(episode, turn) {
  const { turns } = await load(episode);
  if (turn === 0) return 0;
  const index = turns[turn - 1] === turn ? turn - 1 : turns.indexOf(turn);
  return index < 0 ? null : index + 1;
}

// Opens the turn with this number.
export async function openTurn(episode, turn) {
  const at = run.episodes.has(episode) ? await positionOf(episode, turn) : null;
  if (at === null) throw new Unanswered(`Episode ${episode} has no turn ${turn}.`);
  await show(episode, at);
  Object.assign(view, { panel: "transcript", beside: null });
}

// Opens the current memories of a place, and the place on the map.
export async function openPlace(id) {
  await show([...run.episodes.keys()].at(-1), Infinity);
  Object.assign(view, { place: id, tab: "memories", panel: "world", find: null, only: [] });
}

// Whether the newest turn is selected.
export function atNewest() {
  return view.episode === [...run.episodes.keys()].at(-1) && view.at === (current()?.columns?.turns.length ?? 0);
}

// The columns of all turns. Only new turns are requested.
export async function load(episode) {
  const row = run.episodes.get(episode);
  const known = row.columnsOf === row.generation ? row.columns.turns.length : 0;
  if (row.columns && row.columnsOf === row.generation && known >= row.count) return row.columns;
  const { generation, from, columns } = await ask(`episodes/${episode}/columns${known ? `?from=${known}` : ""}`);
  row.generation = generation;
  if (from && row.columnsOf !== generation) return load(episode);
  if (!from) Object.assign(row, { columns, columnsOf: generation });
  // Another request may have added them meanwhile.
  else if (row.columns.turns.length === from) for (const [name, values] of Object.entries(columns)) row.columns[name].push(...values);
  row.count = Math.max(row.count, row.columns.turns.length);
  return row.columns;
}

export function page(episode, number) {
  const row = run.episodes.get(episode);
  const upTo = Math.min(row.count, (number + 1) * run.pageTurns);
  return askOnce(`episodes/${episode}/pages/${number}`, `${row.generation}.${upTo}`);
}

// One turn, or null for the opening.
export async function turnRow(episode, at) {
  if (at < 1) return null;
  const { rows, from } = await page(episode, Math.floor((at - 1) / run.pageTurns));
  return rows[at - 1 - from] ?? null;
}

export function place(id) {
  return askOnce(`places/${encodeURIComponent(placeKey(id))}`, String(run.memory));
}

// If following, selects the newest turn of the newest episode.
async function keepUp() {
  const last = [...run.episodes.keys()].at(-1);
  if (last === undefined) return;
  if (view.following) await look(last, Infinity, true);
  else if (run.episodes.has(view.episode)) {
    const columns = await load(view.episode);
    view.at = Math.min(view.at, columns.turns.length);
  }
}
