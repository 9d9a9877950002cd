// The visible part of the map: around the player, the whole map, or a part chosen by the user.
const STEP = 60;
const LEAST_SPAN = 260;
// Map units per pixel. All known rooms are shown up to the first scale, otherwise a part of them at the second.
const SMALLEST = 1.6;
const READABLE = 1.25;
// The scale above which room names are too small to read.
const UNREADABLE = 1.75;
const AROUND_FOCUS = 24;
// Map units around the outermost rooms.
const MARGIN = 120;

export class Camera {
  constructor(canvas) {
    this.canvas = canvas;
    this.shows = "player";
    this.x = this.y = 0;
    this.span = LEAST_SPAN;
    this.limits([]);
    this.fingers = new Map();
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.fingers.delete(event.pointerId));
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.followed = [null, [], [0, 0]];
    new ResizeObserver(() => this.follow(...this.followed)).observe(canvas);
  }

  // The visible part stays near the known rooms.
  limits(known) {
    [this.left, this.right] = known.length ? around(known.map(({ x }) => x), MARGIN) : [0, 1];
    [this.top, this.bottom] = known.length ? around(known.map(({ y }) => y), MARGIN) : [0, 1];
  }

  // Map units per pixel.
  get scale() {
    return this.span / Math.max(1, this.canvas.clientWidth);
  }

  apply() {
    const height = this.scale * Math.max(1, this.canvas.clientHeight);
    this.canvas.setAttribute("viewBox", `${(this.x - this.span / 2).toFixed(1)} ${(this.y - height / 2).toFixed(1)} ${this.span.toFixed(1)} ${height.toFixed(1)}`);
    this.canvas.classList.toggle("far", this.scale > UNREADABLE);
    this.canvas.style.setProperty("--unit", this.scale.toFixed(3));
  }

  // The position nearest to this point where a label of this size in pixels is completely visible.
  within(x, y, wide, high) {
    const half = Math.max(0, (this.span - wide * this.scale) / 2);
    const top = this.y - (this.scale * this.canvas.clientHeight) / 2 + high * this.scale;
    return [Math.min(Math.max(x, this.x - half), this.x + half), Math.max(y, top)];
  }

  // Shows all known rooms or, if they would be too small to read, the part around the player.
  follow(spot, known, box) {
    this.followed = [spot, known, box];
    if (this.shows === "whole") return this.fit();
    const [wide, high] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (this.shows === "player" && known.length && wide && high) {
      const [left, right] = around(known.map((room) => room.x), box[0] * 0.8);
      const [top, bottom] = around(known.map((room) => room.y), box[1] * 1.3);
      const whole = Math.max(right - left, ((bottom - top) * wide) / high, LEAST_SPAN * 1.6);
      this.span = whole <= SMALLEST * wide ? whole : READABLE * wide;
      this.x = within(spot?.x, left, right, this.span);
      this.y = within(spot?.y, top, bottom, (this.span * high) / wide);
    }
    this.apply();
  }

  // Moves the visible part so that it contains a room.
  bringIn(spot, [wide, high]) {
    const half = (this.scale * Math.max(1, this.canvas.clientHeight)) / 2;
    const [besideX, besideY] = [this.span / 2 - wide / 2 - AROUND_FOCUS, half - high / 2 - AROUND_FOCUS].map((room) => Math.max(0, room));
    const x = Math.min(Math.max(this.x, spot.x - besideX), spot.x + besideX);
    const y = Math.min(Math.max(this.y, spot.y - besideY), spot.y + besideY);
    if (x === this.x && y === this.y) return;
    Object.assign(this, { shows: "chosen", x, y });
    this.apply();
  }

  fit() {
    const shape = this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight);
    const span = Math.max(this.right - this.left, (this.bottom - this.top) * shape);
    Object.assign(this, { shows: "whole", x: (this.left + this.right) / 2, y: (this.top + this.bottom) / 2, span });
    this.apply();
  }

  move(dx, dy) {
    this.shows = "chosen";
    this.x = Math.min(this.right, Math.max(this.left, this.x + dx));
    this.y = Math.min(this.bottom, Math.max(this.top, this.y + dy));
    this.apply();
  }

  // Keeps the given point of the window in place, or else the middle.
  zoom(factor, point = null) {
    const edges = this.canvas.getBoundingClientRect();
    const [dx, dy] = point ? [point[0] - edges.left - edges.width / 2, point[1] - edges.top - edges.height / 2] : [0, 0];
    const before = this.scale;
    this.shows = "chosen";
    this.span = Math.min(Math.max(LEAST_SPAN, this.span / factor), 3 * Math.max(this.right - this.left, this.bottom - this.top));
    this.x += dx * (before - this.scale);
    this.y += dy * (before - this.scale);
    this.apply();
  }

  wheel(event) {
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? 1.12 : 1 / 1.12, [event.clientX, event.clientY]);
  }

  press(event) {
    this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
    this.moved = 0;
  }

  drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const spread = this.spread();
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
    this.moved += Math.abs(dx) + Math.abs(dy);
    // A small movement is still a click.
    if (this.moved < 5) return;
    if (this.fingers.size === 1) this.move(-dx * this.scale, -dy * this.scale);
    else if (spread > 0) this.zoom(this.spread() / spread, this.center());
  }

  spread() {
    const [one, other] = [...this.fingers.values()];
    return other ? Math.hypot(one[0] - other[0], one[1] - other[1]) : 0;
  }

  center() {
    const fingers = [...this.fingers.values()];
    return [0, 1].map((axis) => fingers.reduce((sum, finger) => sum + finger[axis], 0) / fingers.length);
  }

  key(event) {
    const ways = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    if (ways[event.key]) this.move(...ways[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "Enter" || event.key === " ") event.target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function around(values, margin) {
  return [Math.min(...values) - margin, Math.max(...values) + margin];
}

// The middle of the visible range: of the whole range if it fits, else close to `wanted` without empty space at the edge.
function within(wanted, from, to, span) {
  if (wanted === undefined || to - from <= span) return (from + to) / 2;
  return Math.min(Math.max(wanted, from + span / 2), to - span / 2);
}
