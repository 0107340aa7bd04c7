// The browser's arithmetic against NumPy's: the numbers come from tests/widgets/test_javascript.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const { modules, head, scores, kept } = JSON.parse(readFileSync(process.env.CASES, "utf8"));
const attention = await import(`${modules}/attention.js`);
const { makeHead } = await import(`${modules}/head.js`);
const { workOf } = await import(`${modules}/steps.js`);

const near = (actual, expected, tolerance = 1e-12) => {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => {
    const wanted = expected[i] ?? NaN;
    assert.ok(Object.is(value, wanted) || Math.abs(value - wanted) <= tolerance, `${i}: ${value} is not ${wanted}`);
  });
};
const bytes = (numbers) => new DataView(Float64Array.from(numbers).buffer);

test("every state of a head gives NumPy's pattern, sentence and bars", () => {
  const compute = makeHead({ ...head.spec, q: bytes(head.q), k: bytes(head.k), v: bytes(head.v) });
  assert.ok(head.states.length >= 16);
  for (const { state, pattern, text, bars } of head.states) {
    const answer = compute(state);
    near(answer.values, pattern);
    near(answer.detail.bars, bars);
    assert.equal(answer.text, text);
    assert.equal(answer.detail.row, state.asking - 1);
  }
});

test("the steps of one row are NumPy's", () => {
  for (const { mask, row, work } of head.steps) {
    const got = workOf({ ...head.spec, ...head.rows }, row, mask);
    for (const name of ["scores", "scaled", "weights", "blend", "after"]) near(got[name], work[name]);
    assert.equal(got.masked.filter((score) => score === -Infinity).length, work.hidden);
  }
});

test("scores of heads", () => {
  for (const { pattern, T, S, tokens, previous, first, induction } of scores) {
    const got = attention.headScores(Float64Array.from(pattern), T, S, tokens);
    near([got.previous, got.first, got.induction], [previous, first, induction]);
  }
});

test("a mask and the sizes of the values leave rows that sum to one", () => {
  for (const { pattern, T, S, sizes, masked, weighted } of kept) {
    near(attention.underMask(Float64Array.from(pattern), T, S), masked);
    near(attention.weightedBy(Float64Array.from(pattern), sizes, T, S), weighted);
  }
});

test("a row with nothing to look at is zeros, and its entropy is zero", () => {
  const pattern = attention.softmaxRows(Float64Array.from([-Infinity, -Infinity, 1e4, 1e4]), 2, 2);
  near(pattern, [0, 0, 0.5, 0.5]);
  assert.equal(attention.entropyBits(pattern.subarray(0, 2)), 0);
  assert.equal(attention.entropyBits(pattern.subarray(2, 4)), 1);
});

test("the strongest keys come first, and equal ones from left to right", () => {
  assert.deepEqual(attention.strongest([0.1, 0.4, 0, 0.4], 5).map(({ key }) => key), [1, 3, 0]);
});
