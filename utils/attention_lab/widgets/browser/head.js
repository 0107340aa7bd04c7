// One head computed in the browser: its queries, keys and values come once, each move is answered here.

import { blendOf, headSteps } from "./attention.js";
import { copyBytes } from "./numbers.js";
import { rowSentence } from "./words.js";

// A function from the state of the controls to an answer. State: `scale`, `temperature`, `mask`, `asking` (from 1).
export function makeHead({ q, k, v, T, S, d, width, queries, keys, fixed }) {
  const numbers = (bytes) => new Float64Array(copyBytes(bytes));
  const arrays = { q: numbers(q), k: numbers(k), T, S, d };
  const values = v ? numbers(v) : null;
  return (given) => {
    const state = { ...fixed, ...given };
    const { pattern } = headSteps(arrays, state);
    const row = state.asking - 1;
    const weights = pattern.subarray(row * S, (row + 1) * S);
    const bars = values ? Array.from(blendOf(weights, values, 1, S, width)) : [];
    return { values: pattern, text: rowSentence(queries[row], keys, weights), detail: { bars, row } };
  };
}
