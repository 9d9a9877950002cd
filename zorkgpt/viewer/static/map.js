// The map: drawn once for all that was ever known, and then shown as it was known at the turn that is looked at.
import { button, shorten, shown, svg } from "./dom.js";
import { askOnce } from "./api.js";
import { announce, columnsOf, current, now, placesOf, roomName, run, view } from "./run.js";
import { Camera } from "./camera.js";

const TRAIL = 40;
const LINE_LETTERS = 11;

let camera;
let box;
let canvas;
let layers = {};
let drawing = null;
let parts = [];
let asked = null;

export function startMap(element) {
  box = element;
  canvas = svg("svg", { class: "map", tabindex: 0, role: "group", "aria-label": "Map" });
  camera = new Camera(canvas);
  const tools = document.createElement("div");
  tools.className = "map-tools";
  tools.append(
    button("+", () => camera.zoom(1.3), { class: "round", "aria-label": "Zoom in" }),
    button("−", () => camera.zoom(1 / 1.3), { class: "round", "aria-label": "Zoom out" }),
    button("⤢", () => camera.fit(), { class: "round", "aria-label": "Show the whole map", title: "Whole map" }),
    button("◎", () => { camera.free = false; look(); }, { class: "round", "aria-label": "Centre on the player", title: "Centre on the player" }),
  );
  const legend = document.createElement("p");
  legend.className = "legend";
  legend.textContent = "○ not tried · dashed: up, down, by a command · arrow: one way · red: died there";
  element.append(canvas, tools, legend);
}

export async function updateMap() {
  if (!current()?.columns) return;
  const picture = await askOnce("map", `${run.map}.${Object.keys(run.names).length}`);
  if (picture !== drawing) draw(picture);
  look();
}

function draw(picture) {
  drawing = picture;
  parts = [];
  layers = Object.fromEntries(["trail", "lines", "ends", "rooms", "labels"].map((name) => [name, svg("g", { class: name })]));
  canvas.replaceChildren(arrow(), ...Object.values(layers));
  camera.limits(picture.width, picture.height);
  picture.lines.forEach(addLine);
  picture.open.forEach(addEnd);
  picture.rooms.forEach(addRoom);
}

function arrow() {
  return svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 9, markerHeight: 9,
    markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0 L8 4 L0 8 z" })));
}

function part(element, layer, since, until = null, more = () => {}) {
  layers[layer].append(element);
  parts.push({ element, since, until: until ?? Infinity, more });
}

function addLine(line) {
  if (line.kind === "told") return;
  const path = svg("path", { class: `way ${line.kind}`, d: line.d }, svg("title", {}, `${roomName(line.from)}: ${line.way}`));
  part(path, "lines", line.since, null, (at) => path.classList.toggle("one-way", line.back_since === null || line.back_since > at));
  if (line.kind === "other") {
    const middle = path.getPointAtLength(path.getTotalLength() / 2);
    part(svg("text", { class: "label", x: middle.x, y: middle.y + 4 }, shorten(line.way, 18)), "labels", line.since);
  }
}

function addEnd(end) {
  const group = svg("g", { class: "open" },
    svg("path", { d: `M${end.x} ${end.y}l${end.dx} ${end.dy}` }),
    svg("circle", { cx: end.x + end.dx, cy: end.y + end.dy, r: 3.5 }),
    svg("title", {}, `${roomName(end.room)}: ${end.way} was not tried`));
  part(group, "ends", end.since, end.until);
}

function addRoom(room) {
  const [width, height] = drawing.box;
  const name = room.name || `Room ${room.id}`;
  const group = svg("g", { class: "room", "data-room": room.id, tabindex: -1, role: "button", "aria-label": shorten(name, 80),
    transform: `translate(${room.x} ${room.y})`, on: { click: () => choose(room.id) } });
  group.append(svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: 7 }));
  const lines = wrapped(name);
  lines.forEach((line, index) => group.append(svg("text", { y: 5 + 16 * (index - (lines.length - 1) / 2) }, line)));
  const deaths = Object.entries(room.deadly);
  const skull = svg("text", { class: "deadly", x: width / 2 - 9, y: -height / 2 + 12 }, "✕");
  skull.append(svg("title", {}, deaths.map(([way]) => shown(way)).join(", ")));
  if (deaths.length) group.append(skull);
  part(group, "rooms", room.since, null, (at) => group.classList.toggle("danger", deaths.some(([, since]) => since <= at)));
}

function wrapped(name) {
  const lines = [];
  for (const word of shorten(name, 2 * LINE_LETTERS).split(" ")) {
    const joined = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && joined.length <= LINE_LETTERS) lines[lines.length - 1] = joined;
    else lines.push(word.length > LINE_LETTERS ? `${word.slice(0, LINE_LETTERS - 1)}…` : word);
  }
  return lines.slice(0, 2);
}

function choose(room) {
  Object.assign(view, { place: room, tab: "memories" });
  announce();
}

function look() {
  const at = now();
  const [, here] = placesOf();
  for (const { element, since, until, more } of parts) {
    const known = since <= at && at < until;
    element.classList.toggle("unknown", !known);
    if (known) more(at);
  }
  const known = drawing.rooms.filter((room) => room.since <= at);
  for (const group of layers.rooms.children) {
    const id = Number(group.dataset.room);
    group.classList.toggle("here", id === here);
    group.classList.toggle("asked", id === view.place);
    group.setAttribute("tabindex", group.classList.contains("unknown") ? -1 : 0);
  }
  trail();
  canvas.setAttribute("aria-label", `Map: ${known.length} rooms are known, the player is in ${roomName(here)}`);
  const spot = drawing.rooms.find((room) => room.id === here);
  camera.follow(spot, known, drawing.box);
  if (view.place !== asked) {
    asked = view.place;
    const wanted = known.find((room) => room.id === asked);
    if (wanted) camera.bringIn(wanted, drawing.box);
  }
}

// The last steps of this episode, fading backwards.
function trail() {
  const columns = columnsOf(view.episode);
  if (!columns) return;
  const spots = new Map(drawing.rooms.map((room) => [room.id, room]));
  const steps = [];
  for (let at = view.at; at > 0 && steps.length < TRAIL; at--) {
    const [from, to] = [spots.get(columns.places[at - 1]), spots.get(columns.places_after[at - 1])];
    if (from && to && from !== to) steps.push([from, to]);
  }
  layers.trail.replaceChildren(...steps.map(([from, to], index) => {
    const drawn = drawing.lines.find((line) => line.d && [line.from, line.to].includes(from.id) && [line.from, line.to].includes(to.id));
    const line = svg("path", { class: drawn ? "" : "leap", d: drawn ? drawn.d : `M${from.x} ${from.y}L${to.x} ${to.y}` });
    line.style.opacity = (0.75 * (1 - index / TRAIL)).toFixed(2);
    return line;
  }));
}
