// Keyboard shortcuts and their help dialog.
import { button, el } from "./dom.js";
import { current, go, openScreen, view } from "./run.js";
import { toggleLarge } from "./map.js";
import { openSearch, toHit } from "./search.js";
import { follow, neighbor, play, stepBy, stop } from "./timeline.js";

const KEYS = [
  ["←  →", "previous or next turn"], ["PgUp  PgDn", "ten turns back or forward"], ["Home  End", "first or last turn"], ["[  ]", "previous or next episode"],
  ["Space", "play turns automatically"], ["F", "follow the newest turn"], ["/", "search all episodes"], ["N  Shift+N", "next or previous search result"], ["O  T  M", "overview, turns, all memories"], ["L", "enlarge or shrink the map"], ["?", "keyboard shortcuts"],
];
const ACTS = {
  ArrowLeft: () => stepBy(-1), ArrowRight: () => stepBy(1), PageUp: () => go(view.at - 10), PageDown: () => go(view.at + 10), Home: () => go(0),
  End: () => go(current()?.columns?.turns.length ?? 0), "[": () => neighbor(-1, true), "]": () => neighbor(1, true), " ": play, f: follow, F: follow, "?": showHelp, o: () => openScreen("overview"), t: () => openScreen("turn"), m: () => openScreen("memories"), l: toggleLarge, L: toggleLarge, "/": openSearch, n: () => toHit(1), N: () => toHit(-1),
};

// These work on every screen.
const EVERYWHERE = ["?", "/", "o", "t", "m"];

export function startKeyboard() {
  document.addEventListener("keydown", (event) => {
    const act = event.key === "Escape" && view.large ? toggleLarge : ACTS[event.key];
    if (!act || (view.screen !== "turn" && !EVERYWHERE.includes(event.key)) || event.ctrlKey || event.altKey || event.metaKey || taken(event)) return;
    event.preventDefault();
    if (event.key !== " ") stop();
    act();
  });
}

// Controls handle their own keys.
function taken({ target, key }) {
  if (!(target instanceof Element)) return false;
  if (target.closest("input:not([type=range]), textarea, select, dialog")) return true;
  if (target.closest("button, summary, a")) return key === " ";
  return target.classList.contains("scroll") && ["PageUp", "PageDown", "Home", "End", " "].includes(key);
}

export function showHelp() {
  const dialog = el("dialog", { "aria-labelledby": "help-title", on: { close: () => dialog.remove() } }, el("h2", { id: "help-title" }, "Keyboard shortcuts"),
    el("dl", { class: "facts" }, KEYS.flatMap(([key, meaning]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning)])),
    el("p", {}, "Map: drag or use the arrow keys to move; use the wheel, pinch, + or − to zoom. Select a room to see its memories. Escape closes the large map."), button("Close", () => dialog.close()));
  document.body.append(dialog);
  dialog.showModal();
}
