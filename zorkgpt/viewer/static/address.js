// The view as the fragment of the page's address: `#3:120&tab=knowledge&place=30`, or `#live`.
import { exported } from "./api.js";
import { shorten } from "./dom.js";
import { announce, attempt, isOver, openTurn, placeKey, placeOfKey, positionOf, run, show, turnNumber, view } from "./run.js";

// Browsers block pages that change their address too often.
const WAIT_MS = 200;
const STEP = 10;
const LONGEST_FIND = 200;
// How episodes are compared.
const BY = ["place", "score"];

let known = { panels: [], tabs: [], screens: [], events: [], sorts: [], heats: [] };
let opening = Promise.resolve();
let timer = null;
let written = null;
let lostAt = "";

class InvalidAddress extends Error {}

// `names` lists the names that an address may contain.
export function startAddress(names) {
  known = names;
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
  Object.assign(view, { place: null, beside: null, by: BY[0], heat: known.heats[0], large: false, panel: "transcript", tab: known.tabs[0], find: null, only: [], sort: known.sorts[0], from: null });
  const last = [...run.episodes.keys()].at(-1);
  if (last !== undefined) await show(last, exported ? 0 : Infinity, !exported);
}

// A finished run opens with its results.
async function openDefault() {
  await openFirst();
  if (isOver() && run.episodes.size) view.screen = "overview";
}

function parsed(asked) {
  const [head, ...rest] = asked.split("&");
  return Object.fromEntries([["head", head], ...rest.map((part) => {
    const [name, ...value] = part.split("=");
    try {
      return [name, decodeURIComponent(value.join("="))];
    } catch {
      throw new InvalidAddress(`“${shorten(part, 60)}” can't be read.`);
    }
  })]);
}

async function open({ head, tab = known.tabs[0], panel = "transcript", place, beside, by = BY[0], heat = known.heats[0], large = "", find = null, only = "", sort = known.sorts[0], from, ...others }) {
  const [stranger] = Object.keys(others);
  if (stranger !== undefined) throw new InvalidAddress(`“${shorten(stranger, 40)}” is not a known option.`);
  if (!known.tabs.includes(tab)) throw new InvalidAddress(`unknown tab “${shorten(tab, 40)}”.`);
  if (!known.panels.includes(panel)) throw new InvalidAddress(`unknown panel “${shorten(panel, 40)}”.`);
  if (!known.sorts.includes(sort.replace(/^-/, ""))) throw new InvalidAddress(`can’t sort by “${shorten(sort, 40)}”. Columns: ${known.sorts.join(", ")}.`);
  const events = only.split(",").filter(Boolean);
  const strange = events.find((name) => !known.events.includes(name));
  if (strange !== undefined) throw new InvalidAddress(`unknown filter “${shorten(strange, 40)}”. Filters: ${known.events.join(", ")}.`);
  if (!BY.includes(by)) throw new InvalidAddress(`can’t compare by “${shorten(by, 40)}”. Use ${BY.join(" or ")}.`);
  if (!known.heats.includes(heat)) throw new InvalidAddress(`unknown map colors “${shorten(heat, 40)}”. Use ${known.heats.join(", ")}.`);
  if (!["", "1"].includes(large)) throw new InvalidAddress("use large=1 for the large map.");
  const compared = beside === undefined ? null : beside.split(",").map(episodeOf);
  const learnedIn = from === undefined ? null : episodeOf(from);
  const room = place === undefined ? null : placeOf(place);
  if (head === "live" || known.screens.includes(head)) {
    await openFirst();
    if (head !== "live") view.screen = head;
  }
  else {
    const found = /^(\d{1,9}):(\d{1,9})$/.exec(head);
    if (!found) throw new InvalidAddress(`use an episode and a turn, such as #1:20, or ${known.screens.map((name) => `#${name}`).join(", ")}.`);
    const [episode, turn] = [episodeOf(found[1]), Number(found[2])];
    const at = await positionOf(episode, turn);
    if (at === null) throw new InvalidAddress(`episode ${episode} has no turn ${turn}; its last one is ${run.episodes.get(episode).last_turn}.`);
    await show(episode, at);
  }
  Object.assign(view, { tab, panel, place: room, beside: compared, by, heat, large: large === "1", find: events.length ? find ?? "" : find, only: events, sort, from: learnedIn });
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
  const add = (name, value, usual) => value !== usual && parts.push(`${name}=${encodeURIComponent(value)}`);
  add("panel", view.panel, "transcript");
  add("tab", view.tab, known.tabs[0]);
  if (view.place !== null) add("place", placeKey(view.place));
  if (view.beside !== null) parts.push(`beside=${view.beside.join(",")}`);
  add("by", view.by, BY[0]);
  add("heat", view.heat, known.heats[0]);
  if (view.large) parts.push("large=1");
  add("sort", view.sort, known.sorts[0]);
  if (view.from !== null) add("from", view.from);
  if (view.find) add("find", view.find.slice(0, LONGEST_FIND));
  if (view.find === "" && !view.only.length) parts.push("find=");
  if (view.only.length) parts.push(`only=${view.only.join(",")}`);
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
