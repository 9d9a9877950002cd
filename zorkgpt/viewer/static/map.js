// The map known at the selected turn: the player's position and recent path, and what happened in each room.
import { button, count, el, shorten, shown, svg } from "./dom.js";
import { askOnce } from "./api.js";
import { MARK, announce, columnsOf, current, load, now, placesOf, roomName, run, view } from "./run.js";
import { Camera } from "./camera.js";

// Measures: the name in the address, the label in the list, and the name in the legend.
export const HEATS = [["none", "Colors: none", ""], ["visits", "Visits", "Visits"], ["deaths", "Deaths", "Deaths"], ["score", "Score", "Points"]];
const WORDS = { visits: "visit", deaths: "death", score: "point" };

export function said(measure, amount) {
  return count(amount, WORDS[measure]);
}

// Room → amount, or null if no measure is selected. Counts earlier episodes completely and this one up to the turn.
export async function heatAt() {
  if (!(view.heat in WORDS)) return null;
  const found = new Map();
  const episodes = [...run.episodes.keys()].filter((episode) => episode <= view.episode);
  for (const [index, columns] of (await Promise.all(episodes.map(load))).entries()) countEpisode(found, episodes[index], columns);
  return found;
}

function countEpisode(found, episode, columns) {
  const add = (place, amount) => { if (place !== null && amount) found.set(place, (found.get(place) ?? 0) + amount); };
  if (view.heat === "visits") add(placesOf(episode, 0)[1], 1);
  const turns = episode < view.episode ? columns.turns.length : view.at;
  for (let at = 0; at < turns; at++) {
    const [place, after, marks] = [columns.places[at], columns.places_after[at], columns.marks[at]];
    if (view.heat === "visits") add(after, after === place ? 0 : 1);
    else if (view.heat === "deaths") add(place, marks & MARK.died ? 1 : 0);
    else if (marks & MARK.scored) add(place, (columns.scores[at] ?? 0) - (columns.scores[at - 1] ?? 0));
  }
}

const TRAIL = 40;
const LINE_LETTERS = 11;
const GLOWS = 5;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

let camera;
let canvas;
let layers = {};
let drawn = { key: "", box: [0, 0], spots: new Map(), lines: [], ends: [] };
let asked = null;
let heatChooser;
let largeButton;
let legend;

export function startMap(element) {
  canvas = svg("svg", { class: "map", tabindex: 0, role: "group", "aria-label": "Map" });
  camera = new Camera(canvas);
  heatChooser = el("select", { class: "small", "aria-label": "Color rooms by", on: { change: () => { view.heat = heatChooser.value; announce(); } } }, HEATS.map(([id, name]) => el("option", { value: id }, name)));
  largeButton = button(svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, svg("path", { d: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" })), toggleLarge, { class: "round", "aria-label": "Enlarge the map", title: "Enlarge the map (L)" });
  const tools = el("div", { class: "map-tools" }, heatChooser,
    button("+", () => camera.zoom(1.3), { class: "round", "aria-label": "Zoom in" }),
    button("−", () => camera.zoom(1 / 1.3), { class: "round", "aria-label": "Zoom out" }),
    button("⤢", () => camera.fit(), { class: "round", "aria-label": "Show the whole map", title: "Show the whole map" }),
    button("◎", () => { camera.shows = "player"; look(); }, { class: "round", "aria-label": "Center on the player", title: "Center on the player" }), largeButton);
  legend = el("p", { class: "legend" });
  canvas.addEventListener("pointerover", (event) => name(roomOf(event.target)));
  canvas.addEventListener("pointerleave", () => name(roomOf(document.activeElement)));
  canvas.addEventListener("focusin", (event) => focused(roomOf(event.target)));
  canvas.addEventListener("focusout", () => name(null));
  element.append(canvas, tools, legend);
}

export function toggleLarge() {
  view.large = !view.large;
  announce();
}

export async function updateMap() {
  document.body.classList.toggle("large-map", view.large && view.screen === "turn");
  document.body.classList.toggle("place-asked", view.place !== null);
  largeButton.setAttribute("aria-pressed", view.large);
  heatChooser.value = view.heat;
  if (!current()?.columns) return;
  const [picture, heat] = await Promise.all([askOnce("map", `${run.map}.${Object.keys(run.names).length}`), heatAt()]);
  const known = knownAt(picture, now());
  const key = [known.spots.size, known.lines.length, known.oneWay, ...known.ends.map(({ room, way }) => `${room} ${way}`)].join();
  if (drawn.picture !== picture || drawn.key !== key) draw({ picture, key, ...known });
  look();
  warm(heat);
}

// The parts of the map that are known at a turn.
function knownAt({ box, rooms, lines, open }, at) {
  const known = lines.filter(({ since }) => since <= at);
  return {
    box, lines: known, oneWay: known.filter((line) => isOneWay(line, at)).length,
    spots: new Map(rooms.filter(({ since }) => since <= at).map((room) => [room.id, room])),
    ends: open.filter(({ since, until }) => since <= at && (until === null || at < until)),
  };
}

function isOneWay({ back_since: back }, at) {
  return back === null || back > at;
}

function draw(known) {
  const kept = roomOf(document.activeElement);
  drawn = known;
  layers = Object.fromEntries(["trail", "lines", "ends", "rooms", "labels", "tip"].map((one) => [one, svg("g", { class: one })]));
  canvas.replaceChildren(arrow(), ...Object.values(layers));
  camera.limits([...drawn.spots.values()]);
  drawn.lines.forEach(addLine);
  drawn.ends.forEach(addEnd);
  for (const room of drawn.spots.values()) addRoom(room);
  if (kept !== null) groupOf(kept)?.focus({ preventScroll: true });
}

function arrow() {
  return svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 9, markerHeight: 9,
    markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0 L8 4 L0 8 z" })));
}

function addLine(line) {
  const path = svg("path", { class: `way ${line.compass ? "compass" : "other"}${isOneWay(line, now()) ? " one-way" : ""}`, d: line.d, "data-from": line.from, "data-to": line.to },
    svg("title", {}, `${roomName(line.from)}: ${shown(line.way)}`));
  layers.lines.append(path);
  if (line.compass) return;
  const { x, y } = path.getPointAtLength(path.getTotalLength() / 2);
  layers.labels.append(svg("text", { class: "label", x, y: y + 4 }, shorten(line.way, 18)));
}

function addEnd(end) {
  layers.ends.append(svg("g", { class: "open" }, svg("path", { d: `M${end.x} ${end.y}l${end.dx} ${end.dy}` }), svg("circle", { cx: end.x + end.dx, cy: end.y + end.dy, r: 3.5 }),
    svg("title", {}, `${roomName(end.room)}: ${end.way} not tried`)));
}

function nameOf(room) {
  return room.name || `Room ${room.id}`;
}

function addRoom(room) {
  const { x, y } = room;
  const [width, height] = drawn.box;
  const group = svg("g", { class: "room", "data-room": room.id, tabindex: -1, role: "button", transform: `translate(${x} ${y})`, on: { click: () => choose(room.id), keydown: (event) => step(event, room.id) } });
  const shape = { x: -width / 2, y: -height / 2, width, height, rx: 7 };
  group.append(svg("rect", shape), svg("rect", { class: "glow", ...shape }));
  const lines = wrapped(nameOf(room));
  lines.forEach((line, index) => group.append(svg("text", { class: "name", y: 5 + 16 * (index - (lines.length - 1) / 2) }, line)));
  const deaths = Object.entries(room.deadly).filter(([, since]) => since <= now());
  group.classList.toggle("danger", deaths.length > 0);
  if (deaths.length) group.append(svg("text", { class: "deadly", x: width / 2 - 9, y: -height / 2 + 12 }, "✕", svg("title", {}, deaths.map(([way]) => shown(way)).join(", "))));
  group.append(svg("text", { class: "heat", x: width / 2, y: height / 2 + 13 }));
  layers.rooms.append(group);
}

function wrapped(words) {
  const lines = [];
  for (const word of shorten(words, 2 * LINE_LETTERS).split(" ")) {
    const joined = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && joined.length <= LINE_LETTERS) lines[lines.length - 1] = joined;
    else lines.push(word.length > LINE_LETTERS ? `${word.slice(0, LINE_LETTERS - 1)}…` : word);
  }
  return lines.length > 2 ? [lines[0], `${lines[1]}…`] : lines;
}

function choose(room) {
  Object.assign(view, { place: room, tab: "memories" });
  announce();
}

function roomOf(target) {
  const group = target instanceof Element ? target.closest(".map .room") : null;
  return group ? Number(group.dataset.room) : null;
}

function groupOf(id) {
  return layers.rooms?.querySelector(`[data-room="${id}"]`);
}

// Arrow keys move the focus to the nearest room in a direction.
function step(event, id) {
  const way = ARROWS[event.key];
  if (!way) return;
  event.preventDefault();
  event.stopPropagation();
  const { x, y } = drawn.spots.get(id);
  let [nearest, least] = [null, Infinity];
  for (const spot of drawn.spots.values()) {
    const [dx, dy] = [spot.x - x, spot.y - y];
    const [along, aside] = [dx * way[0] + dy * way[1], Math.abs(dx * way[1]) + Math.abs(dy * way[0])];
    if (along > 0 && along + 2 * aside < least) [nearest, least] = [spot.id, along + 2 * aside];
  }
  groupOf(nearest)?.focus({ preventScroll: true });
}

function focused(id) {
  const spot = drawn.spots.get(id);
  if (!spot) return;
  for (const group of layers.rooms.children) group.setAttribute("tabindex", Number(group.dataset.room) === id ? 0 : -1);
  camera.bringIn(spot, drawn.box);
  name(id);
}

// Shows the full name of a room, in the same size at every scale.
function name(id) {
  const spot = drawn.spots.get(id);
  if (!spot) return layers.tip?.replaceChildren();
  const words = svg("text", { y: -9 }, groupOf(id).getAttribute("aria-label"));
  const back = svg("rect", { rx: 5 });
  const sign = svg("g", {}, back, words);
  layers.tip.replaceChildren(sign);
  const box = words.getBBox();
  const [x, y] = camera.within(spot.x, spot.y - drawn.box[1] / 2, box.width + 14, box.height + 16);
  sign.setAttribute("transform", `translate(${x} ${y}) scale(${camera.scale})`);
  for (const [side, value] of Object.entries({ x: box.x - 7, y: box.y - 4, width: box.width + 14, height: box.height + 8 })) back.setAttribute(side, value);
  return undefined;
}

function look() {
  const [, here] = placesOf();
  const reached = layers.rooms.querySelector('[tabindex="0"]');
  for (const group of layers.rooms.children) {
    const id = Number(group.dataset.room);
    group.classList.toggle("here", id === here);
    group.classList.toggle("asked", id === view.place);
    if (!reached) group.setAttribute("tabindex", id === here ? 0 : -1);
  }
  trail();
  canvas.setAttribute("aria-label", `Map: ${drawn.spots.size} known rooms, player in ${roomName(here)}`);
  camera.follow(drawn.spots.get(here), [...drawn.spots.values()], drawn.box);
  if (view.place !== asked) {
    asked = view.place;
    const wanted = drawn.spots.get(asked);
    if (wanted) camera.bringIn(wanted, drawn.box);
  }
}

// Colors each room by its amount, relative to the maximum, and shows the number beside it.
function warm(heat) {
  const most = Math.max(1, ...[...(heat?.values() ?? [])].map(Math.abs));
  for (const group of layers.rooms.children) {
    const id = Number(group.dataset.room);
    const amount = heat?.get(id) ?? 0;
    const level = amount ? Math.ceil(GLOWS * Math.sqrt(Math.abs(amount) / most)) : 0;
    group.querySelector(".glow").setAttribute("class", `glow glow-${level} ${view.heat}${amount < 0 ? " less" : ""}`);
    group.querySelector(".heat").textContent = amount ? amount.toLocaleString("en") : "";
    group.setAttribute("aria-label", `${shorten(nameOf(drawn.spots.get(id)), 80)}${heat && amount ? `, ${said(view.heat, amount)}` : ""}`);
  }
  const words = heat ? `${HEATS.find(([one]) => one === view.heat)[2]}, in all episodes up to this turn · maximum ${said(view.heat, most)}` : "○ exit not tried · dashed: up, down or a command · arrow: one-way · red: death";
  if (legend.textContent !== words) legend.textContent = words;
}

// Draws the last steps of this episode. Older steps fade out.
function trail() {
  const columns = columnsOf(view.episode);
  if (!columns) return;
  const steps = [];
  for (let at = view.at; at > 0 && steps.length < TRAIL; at--) {
    const [from, to] = [drawn.spots.get(columns.places[at - 1]), drawn.spots.get(columns.places_after[at - 1])];
    if (from && to && from !== to) steps.push([from, to]);
  }
  layers.trail.replaceChildren(...steps.map(([from, to], index) => {
    const way = drawn.lines.find((line) => [line.from, line.to].includes(from.id) && [line.from, line.to].includes(to.id));
    const line = svg("path", { class: way ? "" : "leap", d: way ? way.d : `M${from.x} ${from.y}L${to.x} ${to.y}` });
    line.style.opacity = (0.75 * (1 - index / TRAIL)).toFixed(2);
    return line;
  }));
}
