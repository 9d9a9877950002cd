// The overview of a run: its episodes, the learning curve and the actions that scored.
import { button, count, el, fill, shorten, svg, turnLink } from "./dom.js";
import { askOnce, download, exported } from "./api.js";
import { announce, attempt, roomName, run, view } from "./run.js";
import { FIGURES, change, duration, money, sorted, sum, table } from "./table.js";

const HEIGHT = 200;
const EDGE = 26;
const LINKS = 60;

let box;
let sort = "episode";
let wanted = "";

export function startOverview(element) {
  box = element;
}

export async function updateOverview() {
  box.closest("section").hidden = view.screen !== "overview";
  if (view.screen !== "overview" || !run.episodes.size) return;
  const version = [...run.episodes.values()].map((row) => `${row.generation}.${row.count}.${row.reason}`).join();
  const key = `${version}.${run.memory}.${sort}`;
  if (box.dataset.key === key) return;
  const { episodes, damage } = await askOnce("overview", `${version}.${run.memory}`);
  if (JSON.stringify(damage) !== JSON.stringify(run.damage)) {
    // Damage in the model calls is known only now, because they are read on demand.
    run.damage = damage;
    announce();
  }
  const rows = episodes.map((row) => ({ ...run.episodes.get(row.episode), ...row })).filter((row) => row.last_turn !== undefined);
  fill(box, key, [summary(rows), episodeTable(rows), ...answers(rows), ...curve(rows), ...points(rows), ...(exported ? [] : saving())]);
}

function summary(rows) {
  const best = rows.reduce((most, row) => ((row.score ?? -Infinity) > (most?.score ?? -Infinity) ? row : most), null);
  const tokens = sum(rows, "prompt_tokens");
  return el("p", { class: "summary" }, `${count(rows.length, "episode")}, ${count(sum(rows, "turns"), "turn")}, ${duration(sum(rows, "seconds"))}. `,
    ...(best ? ["Best: ", turnLink(best.episode, best.last_turn, `${best.score}${best.max_score ? ` of ${best.max_score}` : ""} points in episode ${best.episode}`), ". "] : []),
    sum(rows, "learned") === null ? "" : `${count(sum(rows, "learned"), "lasting memory", "lasting memories")} learned, ${sum(rows, "disproved")} disproved. `,
    tokens === null ? "" : `${count(sum(rows, "calls"), "model call")}, cost ${money(rows)}.`);
}

// A link to the memories that the episode learned.
function learnedCell(row) {
  const open = () => { Object.assign(view, { screen: "memories", from: row.episode }); announce(); };
  return row.learned === null ? "–" : row.learned ? button(row.learned, open, { class: "small", title: `Memories from episode ${row.episode}` }) : 0;
}

const COLUMNS = [
  { id: "episode", name: "Episode", value: (row) => row.episode, cell: (row) => turnLink(row.episode, row.last_turn, `Episode ${row.episode}`), number: false },
  ...FIGURES.map((figure) => (figure.id === "learned" ? { ...figure, cell: learnedCell } : figure)),
];

function episodeTable(rows) {
  return table(COLUMNS, sorted(COLUMNS, rows, sort), { sort, label: "Episodes", choose: (wanted) => { sort = wanted; announce(); } });
}

// What became of the answers of each role's model.
function answers(rows) {
  const roles = new Map();
  for (const role of rows.flatMap((row) => row.roles)) {
    const total = roles.get(role.role) ?? { role: role.role, calls: 0, not_understood: 0, failed: 0, repeated: 0, useless: false };
    for (const name of ["calls", "not_understood", "failed", "repeated"]) total[name] += role[name];
    total.useless ||= role.useless;
    roles.set(role.role, total);
  }
  if (!roles.size) return [];
  const columns = [["calls", "Calls"], ["not_understood", "Not understood"], ["failed", "Failed"], ["repeated", "Repeated"]];
  const line = (role) => el("tr", {}, el("th", { scope: "row" }, shorten(role.role, 60), ...(role.useless ? [" ", el("span", { class: "badge bad" }, "no usable answers")] : [])),
    columns.map(([name]) => el("td", { class: "number" }, role[name])));
  return [el("h3", {}, "Answers of the models by role"), el("div", { class: "wide" }, el("table", { class: "sortable plain", "aria-label": "Answers by role" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Role"), columns.map(([, name]) => el("th", { scope: "col", class: "number" }, name)))),
    el("tbody", {}, [...roles.values()].map(line))))];
}

// The score of each episode, with the best so far.
function curve(rows) {
  const width = Math.max(340, box.clientWidth - 32);
  const top = Math.max(1, ...rows.map((row) => row.score ?? 0));
  const x = (index) => EDGE + (rows.length > 1 ? (index / (rows.length - 1)) * (width - 2 * EDGE) : (width - 2 * EDGE) / 2);
  const y = (score) => HEIGHT - EDGE - (Math.max(0, score) / top) * (HEIGHT - 2 * EDGE);
  let best = 0;
  const bests = rows.map((row, index) => { best = Math.max(best, row.score ?? 0); return `${x(index).toFixed(1)} ${y(best).toFixed(1)}`; });
  const known = rows.map((row, index) => [row, index]).filter(([row]) => row.score !== null);
  const dots = known.map(([row, index]) => {
    const words = `Episode ${row.episode}: ${row.score} points`;
    const link = svg("a", { href: `#${row.episode}:${row.last_turn}`, class: "turn-link", "aria-label": words }, svg("circle", { cx: x(index), cy: y(row.score), r: rows.length > 60 ? 3.5 : 6 }), svg("title", {}, words));
    if (rows.length <= 20) link.append(svg("text", { x: x(index), y: y(row.score) - 11 }, row.score));
    return link;
  });
  const every = Math.ceil(rows.length / 20);
  const names = rows.map((row, index) => [row, index]).filter(([, index]) => index % every === 0).map(([row, index]) => svg("text", { x: x(index), y: HEIGHT - 6 }, row.episode));
  return [el("h3", {}, "Learning curve (score per episode and best so far)"),
    el("div", { class: "wide" }, svg("svg", { class: "learning", width, viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": "Learning curve" },
      svg("path", { class: "axis", d: `M${EDGE} ${y(0)}H${width - EDGE}` }), svg("path", { class: "best", d: `M${bests.join("L")}` }),
      svg("path", { class: "line", d: `M${known.map(([row, index]) => `${x(index).toFixed(1)} ${y(row.score).toFixed(1)}`).join("L")}` }), ...names, ...dots))];
}

// The same action at the same place is listed once, with all its turns.
function points(rows) {
  const ways = new Map();
  for (const { episode, scored } of rows) {
    for (const event of scored) {
      const key = JSON.stringify([event.place, event.action, event.gain]);
      if (!ways.has(key)) ways.set(key, { ...event, times: [] });
      ways.get(key).times.push([episode, event.turn]);
    }
  }
  const heading = el("h3", {}, "Scoring actions");
  if (!ways.size) return [heading, el("p", { class: "empty" }, "The score never changed.")];
  const all = [...ways.values()].sort((one, other) => other.times.length - one.times.length || other.gain - one.gain);
  return [heading, el("ul", { class: "points" }, all.map((way) => el("li", {},
    change(way.gain),
    el("span", { class: "action", dir: "auto" }, shorten(way.action, 120)), el("bdi", { class: "quiet" }, shorten(roomName(way.place), 60)),
    el("span", { class: "times" }, way.times.slice(0, LINKS).flatMap(([episode, turn]) => [turnLink(episode, turn, `${episode}:${turn}`, { title: `Episode ${episode}, turn ${turn}` }), " "]),
      way.times.length > LINKS && `and ${way.times.length - LINKS} more`))))];
}

function saving() {
  const field = el("input", { id: "save-episodes", maxlength: 200, placeholder: "all, or 3-7", on: { input: () => { wanted = field.value; } } });
  field.value = wanted;
  return [el("h3", {}, "Save as a file"), el("p", { class: "saving" }, el("label", { for: field.id }, "Episodes to save"), field,
    button("Save", () => attempt(() => download(`export?episodes=${encodeURIComponent(field.value.trim())}`)), { class: "small" }))];
}
