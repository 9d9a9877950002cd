// The state of a memory at a turn, from its versions up to then.
export function stateAt(thread, at) {
  const versions = thread.filter((version) => version.at <= at);
  if (!versions.length) return null;
  return { memory: Object.assign({}, ...versions.map((version) => version.set)), versions, gone: Boolean(versions.at(-1).gone), later: thread.length - versions.length };
}

export function memoriesAt(threads, at) {
  return threads.map((thread) => ({ ...stateAt(thread, at), thread })).filter((state) => state.memory && !state.gone).sort(byWeight);
}

// Whether the player may be shown it.
export function believed(state) {
  return state.memory.status !== "SUPERSEDED" && !state.memory.vetoed;
}

function byWeight(one, other) {
  return rank(one.memory) - rank(other.memory) || timesSeen(other.memory) - timesSeen(one.memory);
}

export function timesSeen(memory) {
  return Number.isFinite(memory.observation_count) ? memory.observation_count : 1;
}

function rank(memory) {
  if (memory.pinned) return -1;
  if (memory.category === "DANGER") return 0;
  return memory.persistence === "core" ? 2 : 1;
}
