// The sections of a prompt with their tokens, as a chart and a table.
import { el, folded, prose, shorten, svg } from "./dom.js";

const NAMES = { system: "Instructions", user: "User message", assistant: "Earlier answer" };
const TINTS = 6;
const WIDTH = 1000;

// `call` is a question to a model with its messages and their sections.
export function promptBudget(call) {
  const sections = withTexts(call);
  const total = sections.reduce((sum, section) => sum + section.tokens, 0);
  if (!total) return el("p", { class: "empty" }, "The prompt was empty.");
  const counted = call.prompt_tokens === null ? "" : `; the server reported ${call.prompt_tokens.toLocaleString("en")}`;
  const heaviest = sections.reduce((most, section) => Math.max(most, section.tokens), 0);
  const row = (section, index) => el("tr", {},
    el("th", { scope: "row" }, folded(el("span", { dir: "auto" }, svg("svg", { class: "swatch", viewBox: "0 0 1 1", "aria-hidden": "true" }, svg("rect", { class: tint(index), width: 1, height: 1 })), shorten(section.name, 80)), () => prose(section.text, "verbatim"))),
    el("td", { class: "number" }, section.tokens.toLocaleString("en")), el("td", { class: "number" }, `${((100 * section.tokens) / total).toFixed(0)} %`),
    el("td", { class: "bar" }, picture([[section, index]], heaviest)));
  return el("figure", { class: "budget" },
    el("figcaption", { class: "quiet" }, `About ${total.toLocaleString("en")} tokens (estimate)${counted}`),
    picture(sections.map((section, index) => [section, index]), total),
    el("table", { "aria-label": "Sections of the prompt" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Section"), el("th", { scope: "col", class: "number" }, "Tokens"), el("th", { scope: "col", class: "number" }, "Share"), el("td"))),
      el("tbody", {}, sections.map(row))));
}

function withTexts({ messages, sections }) {
  const starts = messages.map(() => 0);
  return sections.map(({ message, heading, tokens, length }) => {
    const { speaker, content } = messages[message];
    const from = starts[message];
    starts[message] += length;
    return { tokens, name: heading || NAMES[speaker] || speaker, text: content.slice(from, from + length) };
  });
}

// The table beside it says the same in words.
function picture(parts, whole) {
  let x = 0;
  const bars = parts.map(([section, index]) => {
    const width = (section.tokens / whole) * WIDTH;
    x += width;
    return svg("rect", { class: tint(index), x: x - width, width, height: 10 }, svg("title", {}, `${shorten(section.name, 80)}: ${section.tokens}`));
  });
  return svg("svg", { class: "tokens", viewBox: `0 0 ${WIDTH} 10`, preserveAspectRatio: "none", "aria-hidden": "true" }, bars);
}

function tint(index) {
  return `tint-${index % TINTS}`;
}
