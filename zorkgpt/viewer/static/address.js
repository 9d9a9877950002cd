// The view as the fragment of the page's address: `#3:120&tab=knowledge&place=30`, or `#live`.
import { exported } from "./api.js";
import { shorten } from "./dom.js";
import { SORTS } from "./all_memories.js";
import { HEATS } from "./map.js";
import { EVENTS } from "./search.js";
import { PANELS, SCREENS, TABS } from "./tabs.js";
import { USUAL, announce, attempt, isOver, openTurn, placeKey, placeOfKey, positionOf, run, show, turnNumber, view } from "./run.js";

// Browsers block pages that change their address too often.
const WAIT_MS = 200;
const STEP = 10;
const LONGEST_FIND = 200;
const OVERVIEWS = SCREENS.map(([id]) => id).filter((id) => id !== "turn");

// The options of an address in the order in which they are written. `read` returns the value of the view, `write` the words.
const OPTIONS = {
  panel: { read: oneOf(PANELS.map(([id]) => id), "panel") },
  tab: { read: oneOf(TABS.map(({ id }) => id), "tab") },
  place: { read: placeOf, write: placeKey },
  beside: { read: (words) => words.split(",").map(episodeOf) },
  by: { read: oneOf(["place", "score"], "comparison") },
  heat: { read: oneOf(HEATS.map(([id]) => id), "map colors") },
  large: { read: (words) => oneOf(["1"], "size of the map")(words) === "1", write: () => "1" },
  sort: { read: (words) => (oneOf(SORTS, "column")(words.replace(/^-/, "")), words) },
  from: { read: episodeOf },
  find: { read: String, write: (words) => words.slice(0, LONGEST_FIND) },
  only: { read: (words) => words.split(",").filter(Boolean).map(oneOf(EVENTS.map(([id]) => id), "filter")) },
};

let opening = Promise.resolve();
let timer = null;
let written = null;
let lostAt = "";

class InvalidAddress extends Error {}

function oneOf(names, what) {
  return (words) => {
    if (!names.includes(words)) throw new InvalidAddress(`unknown ${what} “${shorten(words, 40)}”. Use ${names.join(", ")}.`);
    return words;
  };
}

export function startAddress() {
  // A link to a turn doesn't change the other panels.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a.turn-link") : null;
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const [episode, turn] = link.getAttribute("href").slice(1).split(":").map(Number);
    attempt(() => openTurn(episode, turn));
  });
}

// Opens the view in the address, now and whenever it changes. The run must have been read.
export function followAddress() {
  addEventListener("hashchange", () => {
    clearTimeout(timer);
    timer = null;
    attempt(openAddress);
  });
  return openAddress();
}

// Opens the view in the address, after any other that is being opened.
function openAddress() {
  opening = opening.catch(() => {}).then(openNow);
  return opening;
}

// If the address can't be opened, shows the reason and opens the default view.
async function openNow() {
  const asked = location.hash.slice(1);
  if (asked === written) return;
  run.lost = "";
  try {
    if (asked) await open(parsed(asked));
    else await openDefault();
  } catch (error) {
    if (!(error instanceof InvalidAddress)) throw error;
    await openDefault();
    run.lost = `Can’t open “#${shorten(asked, 80)}”: ${error.message}`;
  }
  // An address that was entered meanwhile is opened next.
  if (location.hash.slice(1) !== asked) {
    written = null;
    return;
  }
  lostAt = run.lost && address();
  if (run.episodes.size) history.replaceState(null, "", `#${address()}`);
  written = location.hash.slice(1);
  announce();
}

async function openFirst() {
  Object.assign(view, USUAL);
  const last = [...run.episodes.keys()].at(-1);
  if (last !== undefined) await show(last, exported ? 0 : Infinity, !exported);
}

// A finished run opens with its results.
async function openDefault() {
  await openFirst();
  if (isOver() && run.episodes.size) view.screen = "overview";
}

// The parts of an address: the screen or turn, and the view's values of the options.
function parsed(asked) {
  const [head, ...parts] = asked.split("&");
  return { head, options: Object.fromEntries(parts.map((part) => {
    const [name, ...value] = part.split("=");
    const words = decoded(value.join("="), part);
    if (!Object.hasOwn(OPTIONS, name)) throw new InvalidAddress(`“${shorten(name, 40)}” is not a known option.`);
    return [name, OPTIONS[name].read(words)];
  })) };
}

function decoded(words, part) {
  try {
    return decodeURIComponent(words);
  } catch {
    throw new InvalidAddress(`“${shorten(part, 60)}” can't be read.`);
  }
}

async function open({ head, options }) {
  if (head === "live" || OVERVIEWS.includes(head)) {
    await openFirst();
    if (head !== "live") view.screen = head;
  }
  else {
    const found = /^(\d{1,9}):(\d{1,9})$/.exec(head);
    if (!found) throw new InvalidAddress(`use an episode and a turn, such as #1:20, or ${OVERVIEWS.map((name) => `#${name}`).join(", ")}.`);
    const [episode, turn] = [episodeOf(found[1]), Number(found[2])];
    const at = await positionOf(episode, turn);
    if (at === null) throw new InvalidAddress(`episode ${episode} has no turn ${turn}; its last one is ${run.episodes.get(episode).last_turn}.`);
    await show(episode, at);
  }
  // Filters need an open search.
  Object.assign(view, USUAL, options.only?.length ? { find: "" } : {}, options);
}

function episodeOf(words) {
  const number = /^\d{1,9}$/.test(words) ? Number(words) : NaN;
  if (!run.episodes.has(number)) throw new InvalidAddress(`there is no episode ${shorten(words, 20)}.`);
  return number;
}

function placeOf(words) {
  try {
    const id = placeOfKey(words);
    if (run.names[placeKey(id)] !== undefined) return id;
  } catch {
    // Not a valid key of a place.
  }
  throw new InvalidAddress(`there is no place ${shorten(words, 60)}.`);
}

function address() {
  const parts = [view.screen !== "turn" ? view.screen : view.following ? "live" : `${view.episode}:${turnNumber()}`];
  for (const [name, { write = String }] of Object.entries(OPTIONS)) {
    const isImplied = name === "find" && view.find === "" && view.only.length > 0;
    const words = encodeURIComponent(view[name] === null ? "" : write(view[name])).replaceAll("%2C", ",");
    if (String(view[name]) !== String(USUAL[name]) && !isImplied) parts.push(`${name}=${words}`);
  }
  return parts.join("&");
}

// The address of the selected turn, for copying.
export function linkTo() {
  return location.href.split("#")[0] + (run.episodes.size ? `#${view.episode}:${turnNumber()}` : "");
}

export function writeAddress() {
  if (!run.episodes.size) return;
  if (run.lost && address() !== lostAt) {
    run.lost = "";
    announce();
  }
  clearTimeout(timer);
  timer = setTimeout(write, WAIT_MS);
}

function write() {
  timer = null;
  const now = address();
  // If the user has changed the address, the page follows it instead.
  if (now === written || location.hash.slice(1) !== written) return;
  history[isStep(written, now) ? "replaceState" : "pushState"](null, "", `#${now}`);
  written = now;
}

// Steps from turn to turn replace the browser's history entry. Other changes add one.
function isStep(before, now) {
  const [[one, ...rest], [other, ...others]] = [before.split("&"), now.split("&")];
  const [[episode, turn], [episodeNow, turnNow]] = [one.split(":"), other.split(":")];
  return rest.join("&") === others.join("&") && episode === episodeNow && Math.abs(turn - turnNow) <= STEP;
}
