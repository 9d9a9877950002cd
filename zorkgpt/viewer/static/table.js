// Sortable tables, and the columns with the results of an episode.
import { button, el, shorten } from "./dom.js";

export function sum(rows, name) {
  const known = rows.map((row) => row[name]).filter((value) => value !== null);
  return known.length ? known.reduce((total, value) => total + value, 0) : null;
}

export function duration(seconds) {
  if (seconds === null) return "time unknown";
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// The cost is a lower bound if the price of some calls is unknown.
export function money(rows) {
  const cost = sum(rows, "cost");
  if (cost === null) return "unknown";
  return `${sum(rows, "unpriced") ? "at least " : ""}$${cost.toFixed(cost < 1 ? 4 : 2)}`;
}

export function tokens(row) {
  return row.prompt_tokens === null && row.completion_tokens === null ? null : (row.prompt_tokens ?? 0) + (row.completion_tokens ?? 0);
}

export const FIGURES = [
  { id: "end", name: "Ended by", value: (row) => row.reason ?? "not finished" },
  { id: "score", name: "Score", value: (row) => row.score, number: true },
  { id: "turns", name: "Turns", value: (row) => row.turns, number: true },
  { id: "rooms", name: "Rooms", title: "Rooms visited (rooms not visited in an earlier episode)", value: (row) => row.rooms, cell: (row) => `${row.rooms} (${row.new_rooms})`, number: true },
  { id: "deaths", name: "Deaths", value: (row) => row.deaths, number: true },
  { id: "repeated", name: "Repeated failures", title: "Failed actions that had already failed at the same place", value: (row) => row.repeated, number: true },
  { id: "learned", name: "Learned", title: "Lasting memories added", value: (row) => row.learned, number: true },
  { id: "disproved", name: "Disproved", title: "Lasting memories marked as wrong", value: (row) => row.disproved, number: true },
  { id: "tokens", name: "Tokens", title: "Tokens of all model calls, as reported by the server", value: tokens, number: true },
  { id: "cost", name: "Cost", value: (row) => row.cost, cell: (row) => (row.calls ? money([row]) : "–"), number: true },
  { id: "seconds", name: "Time", title: "Time spent on turns, including model calls", value: (row) => row.seconds, cell: (row) => duration(row.seconds), number: true },
];

export function change(gain) {
  return el("span", { class: `badge ${gain > 0 ? "good" : "bad"}` }, `${gain > 0 ? "+" : "−"}${Math.abs(gain)}`);
}

// `sort` is the id of a column, with a leading "-" for descending order. `choose` is called with the new one.
export function table(columns, rows, { sort, choose, label, more = null }) {
  const by = sort.replace(/^-/, "");
  const descending = sort.startsWith("-");
  const head = columns.map((column) => el("th", { scope: "col", class: column.number ? "number" : "", "aria-sort": column.id === by ? (descending ? "descending" : "ascending") : null },
    button(column.name, () => choose(column.id === by && !descending === !column.number ? other(sort) : column.number ? `-${column.id}` : column.id), { title: column.title })));
  const body = rows.map((row) => el("tr", {}, columns.map((column, index) => el(index ? "td" : "th", { class: column.number ? "number" : column.class ?? "", scope: index ? null : "row", dir: "auto" },
    column.cell ? column.cell(row) : said(column.value(row))))));
  return el("div", { class: "wide" }, el("table", { class: "sortable", "aria-label": label }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)), more);
}

function other(sort) {
  return sort.startsWith("-") ? sort.slice(1) : `-${sort}`;
}

function said(value) {
  return value === null || value === undefined ? "–" : typeof value === "number" ? value.toLocaleString("en") : shorten(value, 300);
}

export function sorted(columns, rows, sort) {
  const column = columns.find(({ id }) => id === sort.replace(/^-/, "")) ?? columns[0];
  const sign = sort.startsWith("-") ? -1 : 1;
  // Unknown values come last in both directions.
  const unknown = (value) => value === null || value === undefined || value === "";
  return rows.map((row) => [column.value(row), row]).sort(([one], [another]) =>
    unknown(one) - unknown(another) || sign * (typeof one === "string" ? one.localeCompare(another) : one - another)).map(([, row]) => row);
}
