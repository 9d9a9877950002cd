// The screens, panels and memory tabs of the page, in order. To add a tab, write a module and add a row below.
import { startMemories, updateMemories } from "./memories.js";
import { startKnowledge, startObjectives, updateKnowledge, updateObjectives } from "./goals_and_knowledge.js";

export const SCREENS = [["overview", "Overview"], ["turn", "Turns"], ["memories", "All memories"]];
export const PANELS = [["transcript", "Transcript"], ["world", "Map"], ["turn", "Turn"], ["known", "Memory"], ["found", "Search"]];
// `start` gets the element to fill. `update` is called when the run or the selected turn changes.
export const TABS = [
  { id: "memories", name: "Memories", start: startMemories, update: updateMemories },
  { id: "objectives", name: "Objectives", start: startObjectives, update: updateObjectives },
  { id: "knowledge", name: "Knowledge", start: startKnowledge, update: updateKnowledge },
];
