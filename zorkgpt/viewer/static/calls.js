// Model calls: tokens, cost and latency, with the exact prompt and answer on request.
import { el, folded, prose, shorten } from "./dom.js";
import { ask } from "./api.js";
import { promptBudget } from "./prompt_budget.js";

// The role that chooses actions; its prompt sections are shown with the turn.
export const PLAYER = "agent";

export function callList(calls, episode) {
  return el("ul", { class: "calls" }, calls.map((call) => el("li", {}, folded(title(call), () => whole(call, episode)))));
}

function title(call) {
  const known = (value, word) => (value === null ? `? ${word}` : `${value.toLocaleString("en")} ${word}`);
  return el("span", { class: call.error ? "failed-call" : "" }, el("b", {}, shorten(call.role, 30)), ` ${shorten(call.model, 50)} `,
    el("span", { class: "quiet" }, [known(call.prompt_tokens, "in"), known(call.completion_tokens, "out"),
      call.cost === null ? "cost unknown" : `$${call.cost.toFixed(4)}`, call.latency_s === null ? "" : `${call.latency_s.toFixed(2)} s`].filter(Boolean).join(" · ")));
}

function whole(call, episode) {
  const box = el("div", { class: "call" }, el("p", { class: "quiet" }, "Loading…"));
  ask(`episodes/${episode}/calls/${call.call}`).then((answer) => box.replaceChildren(
    ...(call.role === PLAYER ? [] : [promptBudget(answer)]),
    ...answer.messages.map((message) => said(message.speaker, message.content)),
    ...(answer.reasoning ? [said("reasoning", answer.reasoning)] : []),
    said(answer.error ? "error" : "answer", answer.error ?? answer.answer),
  )).catch((error) => box.replaceChildren(el("p", { class: "empty" }, error.message)));
  return box;
}

function said(speaker, content) {
  return el("div", { class: "said" }, el("span", { class: "speaker" }, shorten(speaker, 40)), prose(content, "verbatim"));
}
