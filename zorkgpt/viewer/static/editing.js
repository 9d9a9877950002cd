// Editing memories, if the viewer was started with --edit: edit, pin, hide, or undo the last change.
import { button, el, shorten } from "./dom.js";
import { hasToken, send } from "./api.js";
import { announce, atNewest, placeKey, run, turnNumber, view } from "./run.js";
import { stateAt } from "./memory_card.js";

const CHOICES = {
  category: ["SUCCESS", "FAILURE", "DISCOVERY", "DANGER", "NOTE"],
  kind: ["", "rule", "procedure", "danger", "insight", "text", "location"],
  persistence: ["core", "permanent"],
  status: ["ACTIVE", "TENTATIVE", "SUPERSEDED"],
};
const COUNTED = new Set(["seen again", "credited"]);
const NAMES = { category: "Category", kind: "Kind", persistence: "Class", status: "Status" };

// The buttons for changing a memory. Edits apply to its current version, whatever turn is selected. Ephemeral and removed
// memories can't be changed, because they are not in the file.
export function editTools(place, thread) {
  const { memory, gone } = stateAt(thread, Infinity);
  if (!run.edit || !hasToken() || gone || memory.persistence === "ephemeral") return [];
  const undoable = thread.filter(({ kind }) => !COUNTED.has(kind)).reduce((left, { kind }) => left + (kind === "reverted" ? -1 : 1), 0) > 0;
  const mark = (name, words, undo) => button(memory[name] ? undo : words, () => change(place, memory, { [name]: !memory[name] }), { class: "small" });
  return [el("span", { class: "tools" }, button("Edit", () => correct(place, memory), { class: "small" }),
    memory.status !== "SUPERSEDED" && mark("pinned", "Pin", "Unpin"), mark("vetoed", "Hide", "Unhide"),
    undoable && button("Undo", () => change(place, memory, { undo: true }), { class: "small", title: "Undo the last change of this memory" }))];
}

async function change(place, memory, wanted, report = showError) {
  try {
    await send(`places/${encodeURIComponent(placeKey(place))}/memories`, { title: memory.title, expected: memory.text, ...wanted });
  } catch (error) {
    // The viewer was restarted, with another token or without --edit.
    if ([401, 405].includes(error.status)) run.edit = false;
    if (error.status === 409 && atNewest()) view.place = place;
    report(error.message);
    announce();
    return false;
  }
  if (atNewest()) view.place = place;
  else run.done = `Saved. You are viewing turn ${turnNumber()} of episode ${view.episode}, which is from before this change.`;
  announce();
  return true;
}

function showError(message) {
  const dialog = el("dialog", { "aria-label": "Not saved", on: { close: () => dialog.remove() } },
    el("p", { role: "alert" }, shorten(message, 1200)), button("Close", () => dialog.close()));
  document.body.append(dialog);
  dialog.showModal();
}

function correct(place, memory) {
  const text = el("textarea", { rows: 5, required: true, id: "edit-text", dir: "auto" });
  text.value = memory.text;
  const reason = el("input", { id: "edit-reason", maxlength: 500, placeholder: "optional; saved in the history" });
  const selects = Object.entries(CHOICES).map(([name, values]) => [name, el("select", { id: `edit-${name}` },
    values.map((value) => el("option", { value, selected: value === (memory[name] ?? "") }, value.toLowerCase() || "unknown")))]);
  const trouble = el("p", { role: "alert", class: "fault" });
  const fields = [["text", text], ["reason", reason], ...selects].map(([name, field]) => ({ name, field, before: field.value }));
  const changed = () => fields.filter(({ field, before }) => field.value !== before);
  const save = async () => {
    const wanted = Object.fromEntries(changed().map(({ name, field }) => [name, field.value]));
    if (!Object.keys(wanted).length || await change(place, memory, wanted, (message) => { trouble.textContent = message; })) dialog.close();
  };
  const ends = el("div", { class: "ends" });
  const usual = () => ends.replaceChildren(button("Cancel", leave), button("Save", save, { class: "main" }));
  // Don't discard changes without asking.
  const leave = () => {
    if (!changed().length) return dialog.close();
    const back = button("Keep editing", () => { usual(); text.focus(); }, { class: "main" });
    ends.replaceChildren(el("p", { role: "alert" }, "Discard your changes?"), button("Discard", () => dialog.close()), back);
    return back.focus();
  };
  const labelled = (name, field) => el("label", { for: field.id }, el("span", {}, name), field);
  const escape = (event) => { event.preventDefault(); leave(); };
  const dialog = el("dialog", { class: "edit", closedby: "none", "aria-labelledby": "edit-title", on: { close: () => dialog.remove(), cancel: escape, keydown: (event) => event.key === "Escape" && escape(event) } },
    el("h2", { id: "edit-title", dir: "auto" }, shorten(memory.title, 160)), labelled("Text", text),
    el("div", { class: "choices" }, selects.map(([name, select]) => labelled(NAMES[name], select))), labelled("Reason", reason), trouble, ends);
  usual();
  document.body.append(dialog);
  dialog.showModal();
}
