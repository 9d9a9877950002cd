// Puts the page together.
import { button, el } from "./dom.js";
import { listen, run, start, view } from "./run.js";
import { showTranscriptAgain, startTranscript, updateTranscript } from "./transcript.js";
import { startTimeline, updateTimeline } from "./timeline.js";
import { startMap, updateMap } from "./map.js";
import { startTurn, updateTurn } from "./turn.js";
import { TABS } from "./tabs.js";
import { startBeside, updateBeside } from "./side_by_side.js";
import { startHeader, updateHeader } from "./header.js";
import { startKeyboard } from "./keyboard.js";

const byId = (id) => document.getElementById(id);
const PANELS = [["transcript", "Transcript"], ["world", "Map"], ["turn", "Turn"], ["known", "Memory"]];

function startTabs() {
  byId("tabs").append(...PANELS.map(([id, name]) => button(name, () => openPanel(id), { "data-opens": id })));
  openPanel("transcript");
}

function openPanel(id) {
  document.body.dataset.panel = id;
  if (id === "transcript") showTranscriptAgain();
  for (const tab of byId("tabs").children) tab.setAttribute("aria-pressed", tab.dataset.opens === id);
}

function startKnown() {
  byId("known-tabs").append(...TABS.map(({ id, name }) => button(name, () => openKnown(id), { class: "small", "data-shows": id })));
  for (const { id, start } of TABS) {
    const box = el("div", { id });
    byId("known-body").append(box);
    start(box);
  }
  openKnown(TABS[0].id);
  // A room of the map was asked for: its memories are what shows.
  listen(() => view.place !== null && openKnown(TABS[0].id));
}

function openKnown(id) {
  for (const tab of TABS) byId(tab.id).hidden = tab.id !== id;
  for (const tab of byId("known-tabs").children) tab.setAttribute("aria-pressed", tab.dataset.shows === id);
}

function complain(error) {
  byId("notice").hidden = false;
  byId("notice").replaceChildren(el("span", {}, error.message), " ", button("Try again", () => location.reload(), { class: "small" }));
}

startHeader({ title: byId("title"), standing: byId("standing"), episodes: byId("episodes"), tools: byId("tools"), notice: byId("notice") });
startTranscript(byId("turns"));
startTimeline(byId("timeline"));
startMap(byId("map"));
startTurn(byId("turn-body"));
startBeside(byId("beside-body"));
startKeyboard();
startTabs();
startKnown();
for (const update of [updateHeader, updateTimeline, updateTranscript, updateMap, updateTurn, ...TABS.map(({ update }) => update), updateBeside]) listen(update);
listen(() => document.body.classList.toggle("empty-run", run.episodes.size === 0 || view.episode === 0));
start().catch(complain);
