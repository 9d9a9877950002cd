// The keys, and the page that tells of them.
import { button, el } from "./dom.js";
import { current, go, openScreen, view } from "./run.js";
import { toggleLarge } from "./map.js";
import { openSearch, toHit } from "./search.js";
import { follow, neighbour, play, stepBy, stop } from "./timeline.js";

const KEYS = [
  ["←  →", "one turn back, one turn on"], ["PgUp  PgDn", "ten turns"], ["Home  End", "the opening, the last turn"], ["[  ]", "the episode before, the next one"],
  ["Space", "play the turns one after the other"], ["F", "follow the newest turn"], ["/", "search all episodes"], ["N  Shift+N", "the next hit of the search, the one before"], ["O  T  M", "the overview of the run, its turns, all memories"], ["L", "the map as large as the window, and back"], ["?", "this page"],
];
const ACTS = {
  ArrowLeft: () => stepBy(-1), ArrowRight: () => stepBy(1), PageUp: () => go(view.at - 10), PageDown: () => go(view.at + 10), Home: () => go(0),
  End: () => go(current()?.columns?.turns.length ?? 0), "[": () => neighbour(-1, true), "]": () => neighbour(1, true), " ": play, f: follow, F: follow, "?": showHelp, o: () => openScreen("overview"), t: () => openScreen("turn"), m: () => openScreen("memories"), l: toggleLarge, L: toggleLarge, "/": openSearch, n: () => toHit(1), N: () => toHit(-1),
};

// What does not step through the turns works on every screen.
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

// Where something is typed, chosen or pressed, a key means what it means there.
function taken({ target, key }) {
  if (!(target instanceof Element)) return false;
  if (target.closest("input:not([type=range]), textarea, select, dialog")) return true;
  if (target.closest("button, summary, a")) return key === " ";
  return target.classList.contains("scroll") && ["PageUp", "PageDown", "Home", "End", " "].includes(key);
}

export function showHelp() {
  const dialog = el("dialog", { "aria-labelledby": "help-title", on: { close: () => dialog.remove() } }, el("h2", { id: "help-title" }, "Keys"),
    el("dl", { class: "facts" }, KEYS.flatMap(([key, meaning]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning)])),
    el("p", {}, "In the map: drag or arrow keys to move, wheel, pinch or + and − to zoom; from a room the arrow keys go to the next one; a room shows its memories. Escape makes a large map small."), button("Close", () => dialog.close()));
  document.body.append(dialog);
  dialog.showModal();
}
