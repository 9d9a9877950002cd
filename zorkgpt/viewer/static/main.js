// Puts the page together.
import { button, el } from "./dom.js";
import { isOneOfSeveral } from "./api.js";
import { announce, listen, openScreen, run, start, view } from "./run.js";
import { followAddress, startAddress, writeAddress } from "./address.js";
import { showTranscriptAgain, startTranscript, updateTranscript } from "./transcript.js";
import { startTimeline, updateTimeline } from "./timeline.js";
import { startMap, updateMap } from "./map.js";
import { startTurn, updateTurn } from "./turn.js";
import { PANELS, SCREENS, TABS } from "./tabs.js";
import { startBeside, updateBeside } from "./side_by_side.js";
import { startOverview, updateOverview } from "./overview.js";
import { closeSearch, openSearch, startSearch, updateSearch } from "./search.js";
import { startEverything, updateEverything } from "./all_memories.js";
import { startHeader, updateHeader } from "./header.js";
import { startKeyboard } from "./keyboard.js";

const byId = (id) => document.getElementById(id);

function startScreens() {
  if (isOneOfSeveral) byId("screens").append(el("a", { class: "all-runs", href: "/" }, "All runs"));
  byId("screens").append(...SCREENS.map(([id, name]) => button(name, () => openScreen(id), { class: "small", "data-screen": id })));
  byId("screens").append(button("Search", () => (view.find === null || view.screen !== "turn" ? openSearch() : closeSearch()), { class: "small", id: "searcher", title: "Search all episodes (/)" }));
}

function startTabs() {
  byId("tabs").append(...PANELS.map(([id, name]) => button(name, () => { Object.assign(view, { panel: id, beside: null }); announce(); }, { "data-opens": id })));
}

function updateTabs() {
  const { screen, panel, tab } = view;
  const hidden = document.body.dataset.panel !== panel || document.body.dataset.screen !== screen;
  if (hidden && panel === "transcript") showTranscriptAgain();
  document.body.dataset.screen = screen;
  for (const one of byId("screens").querySelectorAll("button")) one.setAttribute("aria-pressed", one.id === "searcher" ? view.find !== null && screen === "turn" : one.dataset.screen === screen);
  document.body.dataset.panel = panel;
  for (const one of byId("tabs").children) one.hidden = one.dataset.opens === "found" && view.find === null;
  for (const one of byId("tabs").children) one.setAttribute("aria-pressed", one.dataset.opens === panel);
  for (const one of TABS) byId(one.id).hidden = tab !== one.id;
  for (const one of byId("known-tabs").children) one.setAttribute("aria-pressed", one.dataset.shows === tab);
}

function startKnown() {
  byId("known-tabs").append(...TABS.map(({ id, name }) => button(name, () => { view.tab = id; announce(); }, { class: "small", "data-shows": id })));
  for (const { id, start } of TABS) {
    const box = el("div", { id });
    byId("known-body").append(box);
    start(box);
  }
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
startScreens();
startTabs();
startOverview(byId("overview-body"));
startSearch(byId("found-body"));
startEverything(byId("everything-body"));
startKnown();
for (const update of [updateTabs, updateHeader, updateTimeline, updateTranscript, updateMap, updateTurn, ...TABS.map(({ update }) => update), updateBeside, updateOverview, updateEverything, updateSearch]) listen(update);
listen(() => document.body.classList.toggle("empty-run", run.episodes.size === 0 || view.episode === 0));
startAddress();
listen(writeAddress);
start(followAddress).catch(complain);
