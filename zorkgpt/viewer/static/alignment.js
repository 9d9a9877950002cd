// Aligns sequences of keys by what they have in common.

// The pairs [index in one, index in other] of a longest common subsequence. Of several it is the one that begins alike, and
// goes on as early as it can. Bits of one number are a row of the usual table: Hyyrö, Bit-parallel LCS-length computation revisited.
export function common(one, other) {
  let start = 0;
  while (start < Math.min(one.length, other.length) && one[start] === other[start]) start += 1;
  const pairs = one.slice(0, start).map((_, index) => [index, index]);
  // Read backwards, the pairs that are found last, which come first, are the earliest.
  const [across, down] = [one.slice(start).reverse(), other.slice(start).reverse()];
  const rows = table(across, down);
  const ends = (row, column) => (rows[row - 1] >> BigInt(column - 1)) & 1n;
  for (let [column, row] = [across.length, down.length]; column && row;) {
    if (ends(row, column)) column -= 1;
    else if (row > 1 && !ends(row - 1, column)) row -= 1;
    else pairs.push([one.length - column--, other.length - row--]);
  }
  return pairs;
}

function table(across, down) {
  const all = (1n << BigInt(across.length)) - 1n;
  const places = new Map();
  across.forEach((key, index) => places.set(key, (places.get(key) ?? 0n) | (1n << BigInt(index))));
  let row = all;
  return down.map((key) => {
    const found = row & (places.get(key) ?? 0n);
    row = ((row + found) | (row - found)) & all;
    return row;
  });
}

// Rows of one index, or null, for each sequence: what stands in one row has the same key.
export function aligned(sequences) {
  let rows = [];
  sequences.forEach((sequence, number) => {
    const absent = Array(number).fill(null);
    const merged = [];
    let [row, at] = [0, 0];
    for (const [pairedRow, pairedAt] of [...common(rows.map(({ key }) => key), sequence), [rows.length, sequence.length]]) {
      for (; row < pairedRow; row++) merged.push({ key: rows[row].key, at: [...rows[row].at, null] });
      for (; at < pairedAt; at++) merged.push({ key: sequence[at], at: [...absent, at] });
      if (row < rows.length) merged.push({ key: rows[row].key, at: [...rows[row++].at, at++] });
    }
    rows = merged;
  });
  return rows.map(({ at }) => at);
}
