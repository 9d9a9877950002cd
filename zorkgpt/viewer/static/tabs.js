// The tabs of the memory panel, in order. To add one, write a module and add a row here.
import { startMemories, updateMemories } from "./memories.js";
import { startKnowledge, startObjectives, updateKnowledge, updateObjectives } from "./goals_and_knowledge.js";

// `start` gets the element to fill. `update` is called when the run or the selected turn changes.
export const TABS = [
  { id: "memories", name: "Memories", start: startMemories, update: updateMemories },
  { id: "objectives", name: "Objectives", start: startObjectives, update: updateObjectives },
  { id: "knowledge", name: "Knowledge", start: startKnowledge, update: updateKnowledge },
];
