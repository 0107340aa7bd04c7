// What the views do without a page: couriers, places of states, keys, numbers, colours, sentences, plans.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const { modules, colours, ink } = JSON.parse(readFileSync(process.env.CASES, "utf8"));
const { makeCourier } = await import(`${modules}/courier.js`);
const { moveBy, formatValue } = await import(`${modules}/controls.js`);
const { placeOf, places } = await import(`${modules}/explore.js`);
const numbers = await import(`${modules}/numbers.js`);
const { planPattern } = await import(`${modules}/pattern.js`);
const { rowSentence } = await import(`${modules}/words.js`);

function courier() {
  const sent = [];
  const slow = [];
  const timers = [];
  const made = makeCourier({
    send: (message) => sent.push(message),
    onWaiting: (waiting) => slow.push(waiting),
    later: (call) => timers.push(call),
    never: () => {},
  });
  return { made, sent, slow, timers };
}

test("one request is under way at a time, and the newest state wins", () => {
  const { made, sent } = courier();
  [1, 2, 3, 4].forEach((x) => made.offer({ x }));
  assert.deepEqual(sent.map(({ state }) => state.x), [1]);
  assert.equal(made.receive(sent[0]), true, "the hand is ahead");
  assert.deepEqual(sent.map(({ state }) => state.x), [1, 4]);
  assert.equal(made.receive(sent[1]), false);
  assert.equal(sent.length, 2);
});

test("an answer to somebody else does not end the waiting", () => {
  const { made, sent, slow, timers } = courier();
  made.offer({ x: 1 });
  assert.equal(made.receive({ view: "another", number: 1 }), true);
  assert.equal(made.receive({ ...sent[0], number: 7 }), true);
  timers[0]();
  assert.deepEqual(slow, [true]);
  made.receive(sent[0]);
  assert.deepEqual(slow, [true, false]);
});

test("a state has one place in the table, the last control running fastest", () => {
  const slider = { kind: "slider", low: 0.1, high: 0.7, step: 0.1 };
  assert.equal(places(slider), 7);
  assert.deepEqual([0.1, 0.3, 0.7].map((value) => placeOf(slider, value)), [0, 2, 6]);
  assert.equal(places({ kind: "choice", options: ["a", "b", "c"] }), 3);
  assert.equal(placeOf({ kind: "toggle" }, true), 1);
});

test("arrow keys are steps, other keys are none", () => {
  assert.deepEqual(moveBy("ArrowDown", 4, 2), { by: 1, across: false });
  assert.deepEqual(moveBy("End", 4, 2), { by: 4, across: false });
  assert.deepEqual(moveBy("Home", 4, 2), { by: -2, across: false });
  assert.deepEqual(moveBy("ArrowLeft", 4, 2), { by: -1, across: true });
  assert.equal(moveBy("d", 4, 2), null);
});

test("numbers are short, and a minus is a minus", () => {
  assert.deepEqual([NaN, Infinity, -Infinity, 0, 1, -0.456, 12.34, 123.4].map(numbers.cellNumber),
    ["NaN", "\u221e", "\u2212\u221e", "0", "1", "\u22120.46", "12.3", "123"]);
  assert.equal(formatValue(-1.5, { decimals: 2, unit: "bits" }), "\u22121.50 bits");
});

test("colours are matplotlib's, and ink stands out from each by at least 4.5 to 1", () => {
  const table = numbers.readColours(colours.table);
  for (const { value, rgb } of colours.values) {
    assert.deepEqual(numbers.colourOf(value, { low: 0, high: 1 }, table).slice(0, 3), rgb);
  }
  const light = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  for (const colour of table) {
    const [r, g, b] = colour.map((part) => light(part / 255));
    const own = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    const against = numbers.inkOn(colour) === "black" ? (own + 0.05) / 0.05 : 1.05 / (own + 0.05);
    assert.ok(against >= ink, `${colour}: ${against}`);
  }
});

test("a sentence names the strongest keys, or the chosen one, or nothing", () => {
  assert.equal(rowSentence("bank", ["the", "river"], [0.25, 0.75]), "bank looks at river 0.75, the 0.25.");
  assert.equal(rowSentence("bank", ["the", "river"], [0.25, 0.75], 0), "bank looks at the 0.25.");
  assert.equal(rowSentence("bank", ["the", "river"], [0, 0]), "bank looks at nothing.");
});

test("64 by 64 fits where 12 by 12 fits, and has no numbers", () => {
  const plan = (n) => planPattern({ queries: Array(n).fill("word"), keys: Array(n).fill("word"), bars: [], walk: true });
  assert.ok(plan(64).width <= 640 && plan(64).height <= 700);
  assert.deepEqual([plan(12).numbered, plan(64).numbered], [true, false]);
});
