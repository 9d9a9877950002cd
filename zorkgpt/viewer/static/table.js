// A table whose columns sort it. A column has a name, the value that it sorts by, and, where that is not what it shows, a cell.
import { button, el, shorten } from "./dom.js";

// `sort` names a column, with a minus sign before it for the greatest first; `choose` is told which one was wanted.
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
  // What is not known stands at the end, whichever way it is sorted.
  const unknown = (value) => value === null || value === undefined || value === "";
  return rows.map((row) => [column.value(row), row]).sort(([one], [another]) =>
    unknown(one) - unknown(another) || sign * (typeof one === "string" ? one.localeCompare(another) : one - another)).map(([, row]) => row);
}
