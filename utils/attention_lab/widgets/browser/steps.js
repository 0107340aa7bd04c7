// One attention head, a step at a time: the learner picks the word that asks, goes on and back, and inspects numbers.

import { blendOf, headSteps } from "./attention.js";
import { CONTROLS } from "./controls.js";
import { every, make } from "./dom.js";
import { cellNumber } from "./numbers.js";

export const STEPS = ["ask", "score", "scale", "mask", "soften", "blend", "add"];

const TITLES = {
  ask: "The query of the asking word meets the key of every word.",
  score: "Score: query times key, number by number, added up.",
  scale: "Scaled: each score is divided by the square root of the query's width.",
  mask: "Masked: what comes after the asking word is hidden.",
  soften: "Weights: softmax makes shares of the scores that add up to one.",
  blend: "Blend: each value times its weight, all added up.",
  add: "Added: the blend joins the row of the asking word.",
};

export function renderSteps({ model, el }) {
  const spec = model.get("spec");
  const names = STEPS.filter((name) => (name !== "add" || spec.rows) && (name !== "mask" || spec.mask !== null));
  let step = 0;
  const asking = CONTROLS.choice({ name: "asking", label: "asking word", options: spec.choices }, () => draw());
  const slider = CONTROLS.slider(
    { name: "step", label: "step", unit: `of ${names.length}`, low: 1, high: names.length, step: 1, decimals: 0 },
    () => goTo(slider.read() - 1),
  );
  const mask = CONTROLS.toggle({ name: "mask", label: "causal mask" }, () => draw());
  const controls = spec.mask === null ? [asking, slider] : [asking, mask, slider];
  const [back, next] = ["back", "next"].map((word) => make("button", { type: "button", className: "al-button" }, [word]));
  const title = make("p", { className: "al-title", role: "status" });
  const table = make("table", { className: "al-table" });
  const formula = make("p", { className: "al-said", role: "status" });
  const panel = make("div", { className: "al-controls" }, controls.map((control) => control.row));
  const buttons = make("div", { className: "al-buttons" }, [back, next]);
  const scroll = make("div", { className: "al-scroll" }, [table]);
  el.append(panel, buttons, title, scroll, formula);
  back.addEventListener("click", () => goTo(step - 1));
  next.addEventListener("click", () => goTo(step + 1));
  formula.textContent = "Point at a number, or reach it with Tab, to see how it is made.";

  function goTo(number) {
    step = Math.min(names.length - 1, Math.max(0, number));
    draw();
  }

  function draw() {
    slider.write(step + 1);
    back.disabled = step === 0;
    next.disabled = step === names.length - 1;
    title.textContent = TITLES[names[step]];
    const row = asking.read();
    const shown = names.slice(0, step + 1);
    const work = workOf(spec, row, spec.mask !== null && mask.read());
    drawTable(table, spec, work, shown, (words) => (formula.textContent = words));
    el.dataset.step = names[step];
  }
  asking.write(spec.asking);
  mask.write(Boolean(spec.mask));
  draw();
  return () => {};
}

// All numbers of one asking row.
export function workOf(spec, row, mask) {
  const { q, k, v, T, S, d, width } = spec;
  const flat = (rows) => Float64Array.from(rows.flat());
  const all = headSteps({ q: flat(q), k: flat(k), T, S, d }, { scale: true, temperature: 1, mask });
  const of = (array) => Array.from(array.subarray(row * S, (row + 1) * S));
  const weights = of(all.pattern);
  const parts = weights.map((weight, key) => v[key].map((value) => weight * value));
  const blend = Array.from(blendOf(Float64Array.from(weights), flat(v), 1, S, width));
  const before = spec.rows ? spec.rows[row] : null;
  return {
    row, query: q[row], scores: of(all.scores), scaled: of(all.scaled), masked: of(all.masked), weights, parts, blend,
    before, after: before ? before.map((value, column) => value + blend[column]) : null,
  };
}

function drawTable(table, spec, work, shown, inspect) {
  const has = (name) => shown.includes(name);
  const latest = shown[shown.length - 1];
  const head = make("tr", {}, [cell("th", "word"), cell("th", "key")]);
  const column = (name, words) => has(name) && head.append(cell("th", words, name === latest));
  column("score", "query · key");
  column("scale", `÷ √${spec.d}`);
  column("mask", "masked");
  column("soften", "weight");
  column("blend", "weight × value");
  const rows = every(spec.S, (key) => {
    const line = make("tr", {}, [cell("th", spec.keys[key]), cell("td", vector(spec.k[key]))]);
    const add = (name, value, words) => has(name) && line.append(number(value, words, name === latest, inspect));
    add("score", work.scores[key], `${products(work.query, spec.k[key])} = ${say(work.scores[key])}`);
    add("scale", work.scaled[key], `${say(work.scores[key])} / √${spec.d} = ${say(work.scaled[key])}`);
    add("mask", work.masked[key], maskWords(work, key));
    if (has("soften")) line.append(weightCell(work, key, latest === "soften", inspect));
    if (has("blend")) {
      const words = `${say(work.weights[key])} × ${vector(spec.v[key])} = ${vector(work.parts[key])}`;
      line.append(number(vector(work.parts[key]), words, latest === "blend", inspect));
    }
    return line;
  });
  const feet = [foot(spec, `query of ${spec.queries[work.row]}`, vector(work.query), "", false, inspect)];
  if (has("blend")) {
    const words = spec.columns.map((name, i) => `${name}: ${sum(work.parts.map((part) => part[i]))} = ${say(work.blend[i])}`);
    feet.push(foot(spec, "blend", vector(work.blend), words.join("; "), latest === "blend", inspect));
  }
  if (has("add")) {
    const words = spec.columns.map((name, i) => `${name}: ${say(work.before[i])} + ${say(work.blend[i])} = ${say(work.after[i])}`);
    feet.push(foot(spec, `row of ${spec.queries[work.row]} before`, vector(work.before), "", false, inspect));
    feet.push(foot(spec, "row afterwards", vector(work.after), words.join("; "), true, inspect));
  }
  table.replaceChildren(make("thead", {}, [head]), make("tbody", {}, rows), make("tfoot", {}, feet));
}

function cell(tag, words, fresh = false) {
  const node = make(tag, { className: fresh ? "al-fresh" : "" }, [words]);
  if (tag === "th") node.scope = "col";
  return node;
}

function number(value, words, fresh, inspect) {
  const label = typeof value === "string" ? value : say(value);
  const button = make("button", { type: "button", className: "al-number-button" }, [label]);
  for (const kind of ["focus", "pointerenter", "click"]) button.addEventListener(kind, () => inspect(words));
  return make("td", { className: fresh ? "al-fresh" : "" }, [button]);
}

function weightCell(work, key, fresh, inspect) {
  const terms = work.masked.filter(Number.isFinite).map((score) => `e^${say(score)}`);
  const own = Number.isFinite(work.masked[key]) ? `e^${say(work.masked[key])}` : "0";
  const node = number(work.weights[key], `${own} / (${terms.join(" + ")}) = ${say(work.weights[key])}`, fresh, inspect);
  const bar = make("span", { className: "al-share" });
  bar.style.width = `${Math.round(60 * work.weights[key])}px`;
  node.append(bar);
  return node;
}

function foot(spec, name, words, formula, fresh, inspect) {
  const place = formula ? number(words, formula, fresh, inspect) : cell("td", words);
  place.colSpan = 6;
  const label = cell("th", name, fresh);
  label.scope = "row";
  return make("tr", {}, [label, place]);
}

function maskWords(work, key) {
  if (work.masked[key] === -Infinity) return "This word comes after the asking word: its score becomes \u2212∞.";
  return `This word may be seen: its score stays ${say(work.masked[key])}.`;
}

export function say(value) {
  return Number.isFinite(value) ? value.toFixed(2).replace("-", "\u2212") : cellNumber(value);
}

function vector(numbers) {
  return `(${numbers.map(say).join(", ")})`;
}

function products(a, b) {
  if (a.length > 8) return `sum of ${a.length} products`;
  return a.map((value, index) => `${say(value)} × ${bracket(b[index])}`).join(" + ");
}

function sum(numbers) {
  return numbers.length > 8 ? `sum of ${numbers.length} numbers` : numbers.map(bracket).join(" + ");
}

function bracket(value) {
  return value < 0 ? `(${say(value)})` : say(value);
}
