// Several runs side by side: results, learning curves, scoring actions and all episodes.
import { count, el, fill, shorten, svg } from "./dom.js";
import { ask } from "./api.js";
import { FIGURES, change, duration, money, sorted, sum, table, tokens } from "./table.js";

const WAIT_MS = 3000;
const HEIGHT = 320;
const EDGE = 34;
const COLORS = 6;
const NAMED_POINTS = 20;

const byId = (id) => document.getElementById(id);
let runs = [];
const sorts = { runs: "name", episodes: "run" };

async function update() {
  try {
    ({ runs } = await ask("runs"));
    byId("notice").hidden = true;
  } catch (error) {
    byId("notice").hidden = false;
    byId("notice").textContent = error.message;
  }
  show();
  if (!runs.length || runs.some(isPlayed)) setTimeout(update, WAIT_MS);
}

function isPlayed({ episodes }) {
  const last = episodes.at(-1);
  return last !== undefined && last.reason === null && !last.quiet && !last.cut_short;
}

function show() {
  if (!runs.length) return;
  const played = runs.filter(isPlayed).length;
  byId("standing").textContent = `${count(runs.length, "run")}${played ? `, ${played} in progress` : ""}`;
  fill(byId("runs-body"), JSON.stringify([runs, sorts, byId("runs-body").clientWidth]), [sorting("runs", "Runs", RUN_COLUMNS, runs.map(totals)), ...curves(), ...points(), el("h3", {}, "All episodes"),
    sorting("episodes", "Episodes of all runs", EPISODE_COLUMNS, runs.flatMap((run) => run.episodes.map((row) => ({ ...row, run }))))]);
}

function sorting(name, label, columns, rows) {
  return table(columns, sorted(columns, rows, sorts[name]), { sort: sorts[name], label, choose: (wanted) => { sorts[name] = wanted; show(); } });
}

function address({ number }, episode = null, turn = null) {
  return `runs/${Number(number)}/${episode === null ? "" : `#${Number(episode)}:${Number(turn)}`}`;
}

function link(run, episode, turn, words) {
  return el("a", { class: "turn-link", href: address(run, episode, turn) }, words);
}

function totals(run) {
  const rows = run.episodes;
  const scores = rows.map(({ score }) => score).filter((score) => score !== null);
  const best = rows.reduce((most, row) => ((row.score ?? -Infinity) > (most?.score ?? -Infinity) ? row : most), null);
  return { run, best, rows, average: scores.length ? scores.reduce((one, other) => one + other, 0) / scores.length : null, last: rows.at(-1) };
}

const total = (name) => (row) => sum(row.rows, name);
const RUN_COLUMNS = [
  { id: "name", name: "Run", class: "name", value: (row) => row.run.name, cell: (row) => [line(row.run), el("a", { class: "turn-link", href: address(row.run) }, shorten(row.run.name, 80))] },
  { id: "player", name: "Player", value: (row) => [...new Set(row.rows.map(({ player }) => player))].join(", ") },
  { id: "episodes", name: "Episodes", value: (row) => row.rows.length, number: true },
  { id: "turns", name: "Turns", value: total("turns"), number: true },
  { id: "best", name: "Best", value: (row) => row.best?.score ?? null, cell: (row) => (row.best ? link(row.run, row.best.episode, row.best.last_turn, `${row.best.score}`) : "–"), number: true },
  { id: "average", name: "Average", title: "Average score per episode", value: (row) => row.average, cell: (row) => row.average?.toFixed(1) ?? "–", number: true },
  { id: "last", name: "Last", value: (row) => row.last?.score ?? null, cell: (row) => (row.last ? link(row.run, row.last.episode, row.last.last_turn, `${row.last.score ?? "–"}`) : "–"), number: true },
  { id: "rooms", name: "Rooms", value: total("new_rooms"), number: true },
  { id: "deaths", name: "Deaths", value: total("deaths"), number: true },
  { id: "repeated", name: "Repeated failures", value: total("repeated"), number: true },
  { id: "learned", name: "Learned", value: total("learned"), number: true },
  { id: "disproved", name: "Disproved", value: total("disproved"), number: true },
  { id: "tokens", name: "Tokens", value: ({ rows }) => sum(rows.map((row) => ({ all: tokens(row) })), "all"), number: true },
  { id: "cost", name: "Cost", value: total("cost"), cell: ({ rows }) => (sum(rows, "calls") ? money(rows) : "–"), number: true },
  { id: "seconds", name: "Time", value: total("seconds"), cell: ({ rows }) => duration(sum(rows, "seconds")), number: true },
];
const EPISODE_COLUMNS = [
  { id: "run", name: "Run", class: "name", value: (row) => row.run.name },
  { id: "episode", name: "Episode", value: (row) => row.episode, cell: (row) => link(row.run, row.episode, row.last_turn, `Episode ${row.episode}`) },
  ...FIGURES,
];

function color({ number }) {
  const index = number - 1;
  return `line-${index % COLORS} dash-${Math.floor(index / COLORS) % 3}`;
}

function line(run) {
  return svg("svg", { class: "key", viewBox: "0 0 24 8", "aria-hidden": "true" }, svg("path", { class: color(run), d: "M0 4H24" }));
}

// The score of each episode of each run, in playing order.
function curves() {
  const width = Math.max(340, byId("runs-body").clientWidth - 32);
  const longest = Math.max(...runs.map(({ episodes }) => episodes.length));
  const scores = runs.flatMap(({ episodes }) => episodes.map(({ score }) => score ?? 0));
  const [least, most] = [Math.min(0, ...scores), Math.max(1, ...scores)];
  const x = (index) => EDGE + (longest > 1 ? (index / (longest - 1)) * (width - 2 * EDGE) : (width - 2 * EDGE) / 2);
  const y = (score) => HEIGHT - EDGE - ((score - least) / (most - least)) * (HEIGHT - 2 * EDGE);
  const every = Math.ceil(longest / NAMED_POINTS);
  const marks = Array.from({ length: longest }, (_, index) => index).filter((index) => index % every === 0).map((index) => svg("text", { x: x(index), y: HEIGHT - 8 }, index + 1));
  const heights = [least, most].map((score) => svg("text", { class: "height", x: EDGE - 8, y: y(score) + 4 }, score));
  return [el("h3", {}, "Learning curves (score per episode)"),
    el("ul", { class: "keys" }, runs.map((run) => el("li", {}, line(run), shorten(run.name, 80)))),
    el("div", { class: "wide" }, svg("svg", { class: "learning", width, viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": "Learning curves" },
      svg("path", { class: "axis", d: `M${EDGE} ${y(0)}H${width - EDGE}` }), ...heights, ...marks, ...runs.map((run) => curve(run, x, y))))];
}

function curve(run, x, y) {
  const known = run.episodes.map((row, index) => [row, index]).filter(([row]) => row.score !== null);
  const dots = known.map(([row, index]) => {
    const words = `${run.name}, episode ${row.episode}: ${count(row.score, "point")}`;
    return svg("a", { href: address(run, row.episode, row.last_turn), "aria-label": words }, svg("circle", { class: color(run), cx: x(index), cy: y(row.score), r: run.episodes.length > 60 ? 3 : 5 }), svg("title", {}, words));
  });
  const path = known.map(([row, index]) => `${x(index).toFixed(1)} ${y(row.score).toFixed(1)}`).join("L");
  return svg("g", {}, path && svg("path", { class: color(run), d: `M${path}` }), ...dots);
}

// The first turn of each scoring action in each run.
function points() {
  const ways = new Map();
  for (const run of runs) {
    for (const { episode, scored } of run.episodes) {
      for (const event of scored) {
        const key = JSON.stringify([event.place, event.action.toLowerCase(), event.gain]);
        if (!ways.has(key)) ways.set(key, { ...event, place: run.names[JSON.stringify(event.place)] ?? "", found: new Map() });
        const { found } = ways.get(key);
        found.set(run, [...(found.get(run) ?? []), [episode, event.turn]]);
      }
    }
  }
  const rows = [...ways.values()].sort((one, other) => other.found.size - one.found.size || other.gain - one.gain);
  const cell = (way, run) => {
    const [first, ...others] = way.found.get(run) ?? [];
    return el("td", {}, first ? [link(run, ...first, first.join(":")), others.length > 0 && el("span", { class: "quiet" }, `, ${others.length} more`)] : el("span", { class: "quiet" }, "never"));
  };
  const heading = el("h3", {}, "Scoring actions (first occurrence in each run)");
  if (!rows.length) return [heading, el("p", { class: "empty" }, "The score never changed.")];
  return [heading, el("div", { class: "wide" }, el("table", { class: "sortable plain points-by-run", "aria-label": "Points by run" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Action"), runs.map((run) => el("th", { scope: "col" }, shorten(run.name, 40))))),
    el("tbody", {}, rows.map((way) => el("tr", {}, el("th", { scope: "row", class: "name" }, change(way.gain), " ", el("span", { class: "action", dir: "auto" }, shorten(way.action, 120)), " ", el("bdi", { class: "quiet" }, shorten(way.place, 60))), runs.map((run) => cell(way, run)))))))];
}

addEventListener("resize", show);
update();
