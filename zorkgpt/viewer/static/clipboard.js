// Copying: by the clipboard where the browser lets a page have it, or by a selection.
import { button, el, shown } from "./dom.js";

const SAID_MS = 1500;

export function copyButton(words, content) {
  const one = button(words, async () => {
    // Errors are shown on the button itself.
    const done = await content().then(copy).then(() => "Copied", (error) => shown(error.message));
    one.textContent = done;
    setTimeout(() => { one.textContent = words; }, SAID_MS);
  }, { class: "small", "aria-live": "polite" });
  return one;
}

async function copy(text) {
  // Beyond this machine, without encryption, a page has no clipboard.
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = el("textarea", { class: "unseen" });
  box.value = text;
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  if (!done) throw new Error("Not copied: blocked by the browser");
  return undefined;
}
