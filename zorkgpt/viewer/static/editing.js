// Changing memories by hand, where the viewer was started with --edit.
export function editTools() {
  return [];
}

export function newMemory() {
  return null;
}
