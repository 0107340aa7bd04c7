// Sentences about patterns, for eyes and for screen readers.

import { entropyBits, strongest } from "./attention.js";

// "bank looks at river 0.62, the 0.20, bank 0.10." or, with a key chosen, "bank looks at river 0.62."
export function rowSentence(asking, keys, weights, key = null, count = 3) {
  const chosen = key === null ? strongest(weights, count) : [{ key, weight: weights[key] }];
  if (!chosen.length) return `${asking} looks at nothing.`;
  return `${asking} looks at ${chosen.map((one) => `${keys[one.key]} ${one.weight.toFixed(2)}`).join(", ")}.`;
}

export function entropySentence(weights) {
  return `Its entropy is ${entropyBits(weights).toFixed(1)} bits.`;
}
