// The layout of the map known at a turn: rooms by column and row, without empty columns and rows. Each level is separate,
// with higher levels above.
const CELL = [168, 104];
export const BOX = [112, 48];
const MARGIN = 56;
const BETWEEN_LEVELS = 64;
const LANE = 10;
const STUB = 16;
const BESIDE_A_LINE = 10;
const FAR = 2;
const MIN_BEND = 36;
const BOW = [110, 70];
const COMPASS = { north: [0, -1], south: [0, 1], east: [1, 0], west: [-1, 0], northeast: [1, -1], northwest: [-1, -1], southeast: [1, 1], southwest: [-1, 1] };

// A key that changes when the map must be drawn again.
export function layoutKey(picture, at) {
  const count = (list, name) => list.filter((one) => one[name] !== null && one[name] <= at).length;
  return [picture.changes, count(picture.rooms, "since"), count(picture.lines, "since"), count(picture.lines, "back_since"), count(picture.open, "since"), count(picture.open, "until")].join(".");
}

export function laidOut(picture, at) {
  const known = picture.rooms.filter(({ since }) => since <= at);
  const spots = squares(picture.rooms, known);
  const levels = stacked(spots);
  const occupied = new Set([...spots.values()].map(({ square, level }) => key(level, square)));
  const used = new Set();
  const lines = ties(picture, spots, at).map((line) => ({ ...line, ...route(line, spots.get(line.from), spots.get(line.to), occupied, used) }));
  const ends = picture.open.filter(({ since, until }) => since <= at && (until === null || at < until)).map((end) => openEnd(end, spots.get(end.room), used));
  const width = Math.max(1, ...[...spots.values()].map(({ x }) => x)) + CELL[0] / 2 + MARGIN;
  return { spots, levels, lines, ends, width, height: Math.max(1, ...levels.map(({ bottom }) => bottom)) + MARGIN };
}

function key(level, [column, row]) {
  return `${level}.${column}.${row}`;
}

// Room → its square in the layout.
function squares(all, known) {
  const columns = ranks(all.map(({ column }) => column), known.map(({ column }) => column));
  const rowsOf = new Map();
  for (const { level } of known) {
    const on = (rooms) => rooms.filter((room) => room.level === level).map(({ row }) => row);
    if (!rowsOf.has(level)) rowsOf.set(level, ranks(on(all), on(known)));
  }
  return new Map(known.map((room) => [room.id, { room, level: room.level, square: [columns.get(room.column), rowsOf.get(room.level).get(room.row)] }]));
}

// Renumbers the used columns or rows from 0. A gap that is empty in the final map too stays, one square wide.
function ranks(all, known) {
  const [ever, now] = [new Set(all), new Set(known)];
  const found = new Map();
  let [rank, gap] = [0, false];
  for (let number = Math.min(...known); number <= Math.max(...known); number++) {
    if (now.has(number)) {
      rank += gap ? 1 : 0;
      gap = false;
      found.set(number, rank++);
    } else if (!ever.has(number)) gap = true;
  }
  return found;
}

// Gives each room its coordinates, with the levels stacked. Returns the edges of each level.
function stacked(spots) {
  const levels = [...new Set([...spots.values()].map(({ level }) => level))].sort((one, other) => other - one);
  let top = MARGIN;
  return levels.map((level) => {
    const on = [...spots.values()].filter((spot) => spot.level === level);
    const rows = Math.max(...on.map(({ square }) => square[1])) + 1;
    for (const spot of on) Object.assign(spot, { x: MARGIN + (spot.square[0] + 0.5) * CELL[0], y: top + (spot.square[1] + 0.5) * CELL[1] });
    const [left, right] = [Math.min(...on.map(({ x }) => x)) - CELL[0] / 2, Math.max(...on.map(({ x }) => x)) + CELL[0] / 2];
    const edges = { level, left, right, top, bottom: top + rows * CELL[1] };
    for (const spot of on) Object.assign(spot, { top: edges.top, bottom: edges.bottom });
    top = edges.bottom + BETWEEN_LEVELS;
    return edges;
  });
}

// The lines to draw: connections between near rooms, and for each room the one by which it was first reached.
function ties({ lines }, spots, at) {
  const known = lines.filter(({ since }) => since <= at);
  const joins = ({ from, to }, one, other) => (from === one && to === other) || (from === other && to === one);
  const reached = [...spots.values()].filter(({ room }) => room.reached && spots.has(room.reached.from));
  const wanted = (line) => near(line, spots) || reached.some(({ room }) => joins(line, room.reached.from, room.id));
  const drawn = known.filter(wanted);
  const missing = reached.filter(({ room }) => !drawn.some((line) => joins(line, room.reached.from, room.id)));
  return [...drawn, ...missing.map(({ room }) => ({ from: room.reached.from, to: room.id, way: room.reached.way, back: null, back_since: null, since: room.since }))];
}

function near({ from, to, way }, spots) {
  const [one, other] = [spots.get(from), spots.get(to)];
  if (way in COMPASS) return true;
  return one.level !== other.level || Math.max(Math.abs(one.square[0] - other.square[0]), Math.abs(one.square[1] - other.square[1])) <= FAR;
}

function route(line, one, other, occupied, used) {
  const compass = line.way in COMPASS && one.level === other.level;
  const leaving = compass ? COMPASS[line.way] : toward(one, other);
  const arriving = compass ? COMPASS[line.back] ?? leaving.map((part) => -part) : toward(other, one);
  used.add(key(line.from, leaving)).add(key(line.to, arriving));
  if (one.level !== other.level) return { kind: "other", ...stairs(one, other, occupied) };
  return { kind: compass ? "compass" : "other", ...path(one, leaving, other, arriving, compass, occupied) };
}

// A line between levels: straight if no room is in the way, else around it between the columns and levels.
function stairs(one, other, occupied) {
  const down = Math.sign(other.y - one.y);
  const [[x1, y1], [x2, y2]] = [port(one, [0, down]), port(other, [0, -down])];
  const across = down > 0 ? other.top - BETWEEN_LEVELS / 2 : other.bottom + BETWEEN_LEVELS / 2;
  if (x1 === x2 && !inTheWay(one, other, down, occupied)) return { d: `M${x1} ${y1} L${x2} ${y2}`, middle: [x1, across] };
  const [lane, end] = [x1, x2].map((x) => x + CELL[0] / 2 - LANE);
  return { d: `M${x1 + BOX[0] / 2} ${y1} L${lane} ${y1 + down * LANE} V${across} H${end} V${y2 - down * LANE} L${x2 + BOX[0] / 2} ${y2}`, middle: [(lane + end) / 2, across] };
}

function inTheWay(one, other, down, occupied) {
  const [column, row] = one.square;
  const [, toRow] = other.square;
  return [...occupied].some((square) => {
    const [level, atColumn, atRow] = square.split(".").map(Number);
    return atColumn === column && (level === one.level ? (atRow - row) * down > 0 : level === other.level ? (atRow - toRow) * down < 0 : (level - one.level) * (level - other.level) < 0);
  });
}

// The side that faces another room.
function toward(one, other) {
  return [Math.sign(other.square[0] - one.square[0]), Math.sign(other.square[1] - one.square[1])];
}

function port({ x, y }, [dx, dy]) {
  return [x + (dx * BOX[0]) / 2, y + (dy * BOX[1]) / 2];
}

// A line within a level: straight if it crosses no room, else curved.
function path(one, leaving, other, arriving, compass, occupied) {
  const [[x1, y1], [x2, y2]] = [port(one, leaving), port(other, arriving)];
  const facing = leaving.every((part, axis) => part === -arriving[axis] && part === toward(one, other)[axis]);
  if (facing && !between(one.square, other.square).some((square) => occupied.has(key(one.level, square)))) {
    return { d: `M${x1} ${y1} L${x2} ${y2}`, middle: [(x1 + x2) / 2, (y1 + y2) / 2] };
  }
  let [ax, ay, bx, by] = [];
  if (compass && facing && !(leaving[0] && leaving[1])) {
    // Curve above or to the right of the rooms between.
    [ax, ay] = [bx, by] = [Math.abs(leaving[1]) * BOW[0], -Math.abs(leaving[0]) * BOW[1]];
  } else {
    const bend = Math.max(MIN_BEND, (Math.abs(x2 - x1) + Math.abs(y2 - y1)) / 3.5);
    [[ax, ay], [bx, by]] = [scaled(leaving, bend), scaled(arriving, bend)];
  }
  const [cx1, cy1, cx2, cy2] = [x1 + ax, y1 + ay, x2 + bx, y2 + by].map(Math.round);
  return { d: `M${x1} ${y1} C${cx1} ${cy1} ${cx2} ${cy2} ${x2} ${y2}`, middle: [(x1 + 3 * cx1 + 3 * cx2 + x2) / 8, (y1 + 3 * cy1 + 3 * cy2 + y2) / 8] };
}

function between([x, y], [toX, toY]) {
  const [dx, dy] = [toX - x, toY - y];
  const steps = Math.max(Math.abs(dx), Math.abs(dy));
  return Array.from({ length: Math.max(0, steps - 1) }, (_, index) => [x + Math.round((dx * (index + 1)) / steps), y + Math.round((dy * (index + 1)) / steps)]);
}

function scaled([dx, dy], length) {
  const shrink = dx && dy ? 0.7071 : 1;
  return [dx * length * shrink, dy * length * shrink];
}

function openEnd(end, spot, used) {
  const side = COMPASS[end.way];
  let [x, y] = port(spot, side);
  const [dx, dy] = scaled(side, STUB);
  if (used.has(key(end.room, side))) [x, y] = side[0] ? [x, y + BESIDE_A_LINE] : [x + BESIDE_A_LINE, y];
  return { ...end, x, y, dx, dy };
}

// The cell of a room, including the space around it.
export function cell({ x, y }) {
  return { x: x - CELL[0] / 2, y: y - CELL[1] / 2, width: CELL[0], height: CELL[1] };
}
