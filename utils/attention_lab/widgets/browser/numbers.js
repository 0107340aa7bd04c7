// Numbers as words and as colours.

import { clamp, every } from "./dom.js";

export const NO_NUMBER = [208, 208, 208, 255];

export function readColours(table) {
  return every(table.length / 6, (index) => {
    const part = (offset) => parseInt(table.slice(index * 6 + offset, index * 6 + offset + 2), 16);
    return [part(0), part(2), part(4), 255];
  });
}

export function colourOf(value, { low, high }, colours) {
  if (!Number.isFinite(value)) return NO_NUMBER;
  const share = clamp((value - low) / (high - low), 0, 1);
  return colours[Math.min(colours.length - 1, Math.floor(share * colours.length))];
}

// Black or white, whichever stands out more (WCAG 2 relative luminance).
export function inkOn([red, green, blue]) {
  const linear = [red, green, blue].map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? "black" : "white";
}

export function cellNumber(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
  const size = Math.abs(value);
  const digits = size >= 100 || value === Math.round(value) ? 0 : size >= 10 ? 1 : 2;
  return value.toFixed(digits).replace("-", "\u2212");
}

// The buffer may begin in the middle of a message, where a Float32Array cannot: copy it out first.
export function copyBytes(view) {
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
}
