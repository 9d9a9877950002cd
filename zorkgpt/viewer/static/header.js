// The header: run, episode and status.
import { button, count, el, fill, shorten } from "./dom.js";
import { exported } from "./api.js";
import { attempt, isOver, run, show, view } from "./run.js";
import { neighbor } from "./timeline.js";
import { besideOthers } from "./side_by_side.js";
import { showHelp } from "./keyboard.js";

let places = {};

export function startHeader(elements) {
  places = elements;
}

export function updateHeader() {
  const row = run.episodes.get(view.episode);
  const title = shorten(row?.title || run.name || "ZorkGPT", 60);
  places.title.textContent = title;
  document.title = `${title} · ZorkGPT`;
  fill(places.standing, standing(row).join("."), standing(row).slice(1).map((words, index) => el("span", { class: index ? "quiet" : `state ${standing(row)[0]}` }, words)));
  const numbers = [...run.episodes.keys()];
  fill(places.episodes, `${numbers}.${view.episode}.${run.undone}`, row ? chooser(numbers) : []);
  for (const option of places.episodes.querySelectorAll("option")) {
    const words = label(Number(option.value));
    if (option.textContent !== words) option.textContent = words;
  }
  fill(places.tools, `${numbers.length}.${view.episode}.${view.beside}.${run.undone}`, [numbers.length > 1 && comparer(numbers), button("?", showHelp, { class: "round", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)" })]);
  notice(row);
}

function standing(row) {
  if (!row) return exported ? ["over", "No episodes"] : run.connected ? ["live", "Waiting for the first episode"] : ["lost", "Not connected"];
  const player = row.player ? `${shorten(row.player, 30)} player` : "";
  const [kind, words] = progress(row);
  if (run.connected) return [kind, words, player];
  return ["lost", "Connection lost, reconnecting", kind === "live" ? player : words];
}

function progress(row) {
  if (row.reason !== null) return ["over", `Ended: ${shorten(row.reason, 40)}`];
  if (!row.started && !row.count) return ["over", row.later_version ? "Written by a newer version" : damaged(row.episode).length ? "Log unreadable" : "Log missing or empty"];
  if (exported) return ["over", "Not finished when exported"];
  if (row.cut_short) return ["over", "Interrupted"];
  if (row.quiet) return ["over", "Interrupted or waiting"];
  return ["live", "Playing"];
}

function damaged(episode) {
  return run.damage.filter((one) => one.episode === episode && (one.unreadable || one.trouble));
}

function chooser(numbers) {
  const select = el("select", { "aria-label": "Episode", on: { change: () => attempt(() => show(Number(select.value), Infinity)) } },
    numbers.map((number) => el("option", { value: number, selected: number === view.episode }, label(number))));
  const step = (by, sign, name) => button(sign, () => neighbor(by, true), { class: "round", "aria-label": name, title: name });
  return [step(-1, "«", "Previous episode"), select, step(1, "»", "Next episode")];
}

function label(number) {
  const row = run.episodes.get(number);
  return `Episode ${number}${row.reason ? `, ${shorten(row.reason, 20)}` : ""}${row.score === null ? "" : `, ${row.score} points`}`;
}

function comparer(numbers) {
  const others = numbers.filter((number) => number !== view.episode);
  if (view.beside !== null) return button("Close comparison", () => besideOthers([]), { class: "small" });
  const select = el("select", { "aria-label": "Compare with another episode", on: { change: () => besideOthers([Number(select.value)]) } },
    el("option", { value: "" }, "Compare with…"), others.map((number) => el("option", { value: number }, label(number))));
  return select;
}

function notice(row) {
  const words = [...new Set([run.lost, run.undone, run.missing, run.done].filter(Boolean))];
  if (row?.later_version) words.push(`Parts of this log were written by a newer version (format ${row.later_version}) and are not shown.`);
  for (const one of run.damage) if (view.screen === "overview" || [null, view.episode].includes(one.episode)) words.push(...told(one));
  places.notice.hidden = words.length === 0;
  places.notice.textContent = words.join(" ");
}

function told({ file, unreadable, trouble, half_written: half }) {
  const name = shorten(file, 80);
  if (trouble) return [`${name} is not shown: ${shorten(trouble, 200)}.`];
  const lines = unreadable ? [`${count(unreadable, "line")} of ${name} ${unreadable === 1 ? "is" : "are"} damaged and not shown.`] : [];
  return half && isOver() ? [...lines, `${name} ends with an incomplete line.`] : lines;
}
