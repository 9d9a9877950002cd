// Changing memories by hand, where the viewer was started with --edit: correct, pin or veto.
import { button, el, shorten } from "./dom.js";
import { hasToken, send } from "./api.js";
import { placeKey, run, showNewest } from "./run.js";

const CHOICES = {
  category: ["SUCCESS", "FAILURE", "DISCOVERY", "DANGER", "NOTE"],
  persistence: ["core", "permanent"],
  status: ["ACTIVE", "TENTATIVE", "SUPERSEDED"],
};
const NAMES = { category: "Category", persistence: "Class", status: "Status" };

// What can be done to a memory; nothing to those of one episode, which are in no file.
export function editTools(place, memory) {
  if (!run.edit || !hasToken() || memory.persistence === "ephemeral") return [];
  const mark = (name, words, undo) => button(memory[name] ? undo : words, () => change(place, memory, { [name]: !memory[name] }), { class: "small", "aria-pressed": Boolean(memory[name]) });
  return [el("span", { class: "tools" }, button("Correct", () => correct(place, memory), { class: "small" }),
    memory.status !== "SUPERSEDED" && mark("pinned", "Pin", "Pinned"), mark("vetoed", "Veto", "Vetoed"))];
}

async function change(place, memory, wanted, tell = complain) {
  try {
    await send(`places/${encodeURIComponent(placeKey(place))}/memories`, { title: memory.title, expected: memory.text, ...wanted });
    await showNewest(place);
    return true;
  } catch (error) {
    tell(error.message);
    return false;
  }
}

function complain(message) {
  const dialog = el("dialog", { "aria-label": "Nothing was changed", on: { close: () => dialog.remove() } },
    el("p", { role: "alert" }, shorten(message, 1200)), button("Close", () => dialog.close()));
  document.body.append(dialog);
  dialog.showModal();
}

function correct(place, memory) {
  const text = el("textarea", { rows: 5, required: true, id: "edit-text", dir: "auto" });
  text.value = memory.text;
  const reason = el("input", { id: "edit-reason", maxlength: 500, placeholder: "for the history; may be left out" });
  const selects = Object.entries(CHOICES).map(([name, values]) => [name, el("select", { id: `edit-${name}` },
    values.map((value) => el("option", { value, selected: value === memory[name] }, value.toLowerCase())))]);
  const trouble = el("p", { role: "alert", class: "fault" });
  const save = async () => {
    const wanted = Object.fromEntries([["text", text.value], ...selects.map(([name, select]) => [name, select.value])].filter(([name, value]) => value !== memory[name]));
    if (reason.value.trim()) wanted.reason = reason.value;
    if (await change(place, memory, wanted, (message) => { trouble.textContent = message; })) dialog.close();
  };
  const labelled = (name, field) => el("label", { for: field.id }, el("span", {}, name), field);
  const dialog = el("dialog", { class: "edit", "aria-labelledby": "edit-title", on: { close: () => dialog.remove() } },
    el("h2", { id: "edit-title", dir: "auto" }, shorten(memory.title, 160)), labelled("Text", text),
    el("div", { class: "choices" }, selects.map(([name, select]) => labelled(NAMES[name], select))), labelled("Reason", reason), trouble,
    el("div", { class: "ends" }, button("Cancel", () => dialog.close()), button("Save", save, { class: "main" })));
  document.body.append(dialog);
  dialog.showModal();
}
