// The arithmetic of attention on flat arrays, row after row. T rows ask, S rows are asked, d is a width.

// Scores of one head and what becomes of them: raw, scaled, masked, pattern; each T × S.
export function headSteps({ q, k, T, S, d }, { scale = true, temperature = 1, mask = false } = {}) {
  const scores = new Float64Array(T * S);
  for (let row = 0; row < T; row++) {
    for (let key = 0; key < S; key++) {
      let sum = 0;
      for (let i = 0; i < d; i++) sum += q[row * d + i] * k[key * d + i];
      scores[row * S + key] = sum;
    }
  }
  const divisor = (scale ? Math.sqrt(d) : 1) * temperature;
  const scaled = scores.map((score) => score / divisor);
  const masked = scaled.map((score, index) => (mask && isHidden(index, T, S) ? -Infinity : score));
  return { scores, scaled, masked, pattern: softmaxRows(masked, T, S) };
}

// Whether a causal mask hides this entry: with S > T the rows that ask are the last T of S.
export function isHidden(index, T, S) {
  return (index % S) > Math.floor(index / S) + S - T;
}

// A row with nothing to look at is all zeros.
export function softmaxRows(scores, T, S) {
  const pattern = new Float64Array(T * S);
  for (let row = 0; row < T; row++) {
    const part = scores.subarray(row * S, (row + 1) * S);
    const most = part.reduce((a, b) => Math.max(a, b), -Infinity);
    if (most === -Infinity) continue;
    let sum = 0;
    for (let key = 0; key < S; key++) sum += pattern[row * S + key] = Math.exp(part[key] - most);
    for (let key = 0; key < S; key++) pattern[row * S + key] /= sum;
  }
  return pattern;
}

// What each row receives: (T, S) times (S, width).
export function blendOf(pattern, v, T, S, width) {
  const blend = new Float64Array(T * width);
  for (let row = 0; row < T; row++) {
    for (let key = 0; key < S; key++) {
      for (let i = 0; i < width; i++) blend[row * width + i] += pattern[row * S + key] * v[key * width + i];
    }
  }
  return blend;
}

// The pattern as a causal mask leaves it: what is hidden is gone, and the rest of each row is scaled up to one again.
export function underMask(pattern, T, S) {
  return rescaled(pattern.map((weight, index) => (isHidden(index, T, S) ? 0 : weight)), T, S);
}

// Each weight times the size of the value that it fetches, every row scaled to one again.
export function weightedBy(pattern, sizes, T, S) {
  return rescaled(pattern.map((weight, index) => weight * sizes[index % S]), T, S);
}

function rescaled(pattern, T, S) {
  for (let row = 0; row < T; row++) {
    const part = pattern.subarray(row * S, (row + 1) * S);
    const sum = part.reduce((a, b) => a + b, 0);
    if (sum > 0) part.forEach((weight, key) => (part[key] = weight / sum));
  }
  return pattern;
}

// How spread out a row is, in bits: 0 for one key, log2 S for all alike.
export function entropyBits(row) {
  return row.reduce((sum, weight) => (weight > 0 ? sum - weight * Math.log2(weight) : sum), 0);
}

// Three scores of a head between 0 and 1: mean weight on the row just before, on the first row, and on the row after
// the last time the asking token stood here. NaN where no row of the text can tell.
export function headScores(pattern, T, S, tokens) {
  const shift = S - T;
  const at = (row, key) => pattern[row * S + key];
  const mean = (rows, keyOf) => (rows.length ? rows.reduce((sum, row) => sum + at(row, keyOf(row)), 0) / rows.length : NaN);
  const later = Array.from({ length: T }, (_, row) => row).filter((row) => row + shift >= 1);
  const followers = later.map((row) => tokens.lastIndexOf(tokens[row + shift], row + shift - 1) + 1);
  return {
    previous: mean(later, (row) => row + shift - 1),
    first: mean(later, () => 0),
    induction: mean(later.filter((_, index) => followers[index] > 0), (row) => followers[later.indexOf(row)]),
  };
}

// The keys of a row with the largest weights, largest first.
export function strongest(row, count) {
  return Array.from(row, (weight, key) => ({ key, weight }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, count);
}
