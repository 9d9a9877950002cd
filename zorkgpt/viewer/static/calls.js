// Model calls: tokens, cost, latency and prompt sections, with the exact prompt and answer on request.
import { el, folded, prose, shorten, svg } from "./dom.js";
import { ask } from "./api.js";

const NAMES = { system: "Instructions", user: "User message", assistant: "Earlier answer" };
const TINTS = 6;
const WIDTH = 1000;

// `call` is a model call with its messages and their sections.
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

// Hidden from screen readers, because the table has the same figures.
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

// The role that chooses actions; its prompt sections are shown with the turn.
export const PLAYER = "agent";

export function callList(calls, episode) {
  return el("ul", { class: "calls" }, calls.map((call) => el("li", {}, folded(title(call), () => whole(call, episode)))));
}

function title(call) {
  const known = (value, word) => (value === null ? `? ${word}` : `${value.toLocaleString("en")} ${word}`);
  return el("span", { class: call.error || call.problem ? "failed-call" : "" }, el("b", {}, shorten(call.role, 30)), ` ${shorten(call.model, 50)} `,
    el("span", { class: "quiet" }, [known(call.prompt_tokens, "in"), known(call.completion_tokens, "out"),
      call.cost === null ? "cost unknown" : `$${call.cost.toFixed(4)}`, call.latency_s === null ? "" : `${call.latency_s.toFixed(2)} s`, call.problem && "not understood"].filter(Boolean).join(" · ")));
}

function whole(call, episode) {
  const box = el("div", { class: "call" }, el("p", { class: "quiet" }, "Loading…"));
  ask(`episodes/${episode}/calls/${call.call}`).then((answer) => box.replaceChildren(
    ...(call.role === PLAYER ? [] : [promptBudget(answer)]),
    ...answer.messages.map((message) => said(message.speaker, message.content)),
    ...(answer.reasoning ? [said("reasoning", answer.reasoning)] : []),
    said(answer.error ? "error" : "answer", answer.error ?? answer.answer),
    ...(answer.problem ? [said("problem", answer.problem)] : []),
  )).catch((error) => box.replaceChildren(el("p", { class: "empty" }, error.message)));
  return box;
}

function said(speaker, content) {
  return el("div", { class: "said" }, el("span", { class: "speaker" }, shorten(speaker, 40)), prose(content, "verbatim"));
}
