// The timeline: a slider over the turns and the score curve, with marks for events.
import { button, el, fill, shorten, svg } from "./dom.js";
import { exported } from "./api.js";
import { MARK, attempt, current, go, placesOf, roomName, run, show, turnNumber, turnRow, view } from "./run.js";

const WIDTH = 1000;
const HEIGHT = 44;
const PLAY_MS = 450;
const REST_MS = 250;

let slider;
let curve;
let label;
let followButton;
let playButton;
let playing = null;
let said = "";
let pause = null;

export function startTimeline(element) {
  curve = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true", class: "curve" });
  slider = el("input", { type: "range", min: 0, max: 0, value: 0, id: "scrubber", "aria-label": "Turn", on: { input: () => {
    stop();
    go(Number(slider.value), Number(slider.value) === Number(slider.max));
  } } });
  label = el("p", { id: "when" });
  playButton = button("▶", play, { class: "round", "aria-label": "Play turns automatically", title: "Play (Space)" });
  followButton = button("Follow", () => follow(), { id: "follow", title: "Follow the newest turn (F)" });
  const step = (by, sign, name) => button(sign, () => { stop(); stepBy(by); }, { class: "round", "aria-label": name, title: name });
  element.append(
    el("div", { class: "steps" }, step(-1, "‹", "Previous turn"), playButton, step(1, "›", "Next turn")),
    el("div", { class: "track" }, curve, slider), label, followButton,
  );
}

export function updateTimeline() {
  const row = current();
  if (!row?.columns) return;
  const length = row.columns.turns.length;
  slider.max = length;
  slider.value = view.at;
  const score = view.at ? row.columns.scores[view.at - 1] : 0;
  const words = `Turn ${turnNumber()} of ${row.last_turn}`;
  slider.setAttribute("aria-valuetext", `${words}, ${roomName(placesOf()[1])}, score ${score ?? "unknown"}`);
  fill(label, `${words}.${score}.${row.max_score}`, [
    el("strong", {}, words), el("span", {}, score === null ? "" : row.max_score ? `${score} of ${row.max_score} points` : `${score} points`),
  ]);
  say(words);
  followButton.hidden = exported;
  followButton.setAttribute("aria-pressed", view.following);
  followButton.textContent = view.following ? "Following" : "Follow";
  const best = [...run.episodes.values()].reduce((most, other) => Math.max(most, other.score ?? 0), 10);
  drawCurve(row.columns, length, best);
}

// Announces the turn to screen readers once stepping pauses.
function say(words) {
  const key = `${view.episode}.${view.at}`;
  if (key === said) return;
  said = key;
  clearTimeout(pause);
  pause = setTimeout(async () => {
    const row = await turnRow(view.episode, view.at).catch(() => null);
    if (said === key) document.getElementById("spoken").textContent = `${words}, ${shorten(roomName(placesOf()[1]), 60)}${row ? `: ${shorten(row.action, 120)}` : ", the opening"}`;
  }, REST_MS);
}

// All episodes use the scale of the best one, so that curves can be compared.
function drawCurve(columns, length, best) {
  const key = `${view.episode}.${length}.${best}`;
  if (curve.dataset.key === key) return;
  const scores = columns.scores;
  const top = scores.reduce((most, score) => Math.max(most, score ?? 0), best);
  const x = (index) => (index / Math.max(1, length)) * WIDTH;
  const y = (score) => HEIGHT - 3 - (Math.max(0, score ?? 0) / top) * (HEIGHT - 10);
  const every = Math.max(1, Math.floor(length / WIDTH));
  let path = `M0 ${y(0)}`;
  let last = null;
  for (let index = 0; index < length; index += every) {
    if (scores[index] !== last || index + every >= length) path += `H${x(index + 1).toFixed(1)}V${y(scores[index]).toFixed(1)}`;
    last = scores[index];
  }
  const marks = [["contested", "warn"], ["died", "bad"], ["victory", "good"]].flatMap(([name, kind]) =>
    at(columns.marks, MARK[name]).slice(0, 300).map((index) => svg("line", { class: `tick ${kind}`, x1: x(index), x2: x(index), y1: 0, y2: HEIGHT })));
  fill(curve, key, [svg("path", { class: "area", d: `${path}V${HEIGHT}H0z` }), svg("path", { class: "line", d: path }), ...marks]);
}

function at(marks, wanted) {
  const found = [];
  marks.forEach((mark, index) => mark & wanted && found.push(index + 1));
  return found;
}

export function stepBy(by) {
  const length = current()?.columns?.turns.length ?? 0;
  if (view.at + by > length && by === 1) neighbor(1);
  else if (view.at + by < 0 && by === -1) neighbor(-1);
  else go(view.at + by, false);
}

// Opens the next episode at its opening, or the previous one at its end.
export function neighbor(by, atEnd = by < 0) {
  const numbers = [...run.episodes.keys()];
  const other = numbers[numbers.indexOf(view.episode) + by];
  if (other !== undefined) attempt(() => show(other, atEnd ? Infinity : 0));
}

export function follow() {
  stop();
  const last = [...run.episodes.keys()].at(-1);
  if (last !== undefined) attempt(() => show(last, Infinity, !view.following));
}

export function play() {
  if (playing) return stop();
  playButton.textContent = "❚❚";
  playing = setInterval(() => {
    if (view.at >= (current()?.columns?.turns.length ?? 0)) stop();
    else go(view.at + 1);
  }, PLAY_MS);
  return undefined;
}

export function stop() {
  clearInterval(playing);
  playing = null;
  playButton.textContent = "▶";
}
