// A heat map painted from numbers: cells on a canvas of one pixel a cell, words and numbers in an SVG above it.
// Where rows can be walked, the row that asks is marked, arcs lead from its word to the words it looks at, and its
// weights stand as bars under the columns.

import { keepKeysInside, moveBy } from "./controls.js";
import { clamp, every, make, makeSvg, text } from "./dom.js";
import { cellNumber, colourOf, copyBytes, inkOn, readColours } from "./numbers.js";
import { rowSentence } from "./words.js";

const CELL_MOST = 54;
const CELL_LEAST = 5;
const MAP_SIDE = 400;
const BAR_WIDTH = 170;
const NUMBERED = 12;
const ARC_ROOM = 84;
const ROW_BARS = 56;

export function patternView(spec) {
  let answered = "";
  let map = draw(spec.queries, spec.keys);
  const title = spec.title ? [make("p", { className: "al-title" }, [spec.title])] : [];
  const node = make("div", { className: "al-pattern" }, [...title, map.node, ...(spec.walk ? [map.said] : [])]);

  function draw(queries, keys) {
    // One sentence is enough where the view's own says the same.
    const drawn = drawMap({ ...spec, queries, keys }, () => (drawn.said.hidden = drawn.said.textContent === answered));
    return drawn;
  }

  // Another number of words is another map.
  function mapFor(queries, keys) {
    if (map.fits(queries, keys)) return map;
    const next = draw(queries, keys);
    map.node.replaceWith(next.node);
    if (spec.walk) map.said.replaceWith(next.said);
    return (map = next);
  }

  return {
    node,
    paint(answer) {
      answered = answer.text;
      const [queries, keys] = [answer.detail.queries ?? spec.queries, answer.detail.keys ?? spec.keys];
      const { node: stage, paint, bars, select } = mapFor(queries, keys);
      paint(answer.values ?? new Float32Array(copyBytes(answer.content)), queries, keys);
      bars(answer.detail.bars);
      if (spec.walk && answer.detail.row !== undefined) select(answer.detail.row, null);
      if (!spec.walk) stage.setAttribute("aria-label", [spec.title, answer.text].filter(Boolean).join(". "));
      stage.dataset.number = answer.number;
    },
  };
}

// The map itself: `paint` values and words, set `bars`, `select` a row (and a key), show `spreads` beside the rows.
export function drawMap(spec, onSelect = () => {}) {
  const plan = planPattern(spec);
  const canvas = make("canvas", { className: "al-cells" });
  const svg = makeSvg("svg", { "aria-hidden": "true" });
  const stage = make("div", { className: "al-stage", role: "img" }, [canvas, svg]);
  const colours = readColours(spec.colours);
  const drawing = drawPattern(svg, spec, plan);
  placeStage(stage, canvas, svg, plan);
  const context = canvas.getContext("2d");
  const said = make("p", { className: "al-row-said", role: "status" });
  let values = new Float64Array(plan.rows * plan.columns);
  let names = [spec.queries, spec.keys];
  let chosen = { row: plan.rows - 1, key: null };

  const weights = () => values.subarray(chosen.row * plan.columns, (chosen.row + 1) * plan.columns);
  const select = (row, key) => {
    chosen = { row: clamp(row, 0, plan.rows - 1), key: key === null ? null : clamp(key, 0, plan.columns - 1) };
    drawing.row(chosen, weights());
    stage.setAttribute("aria-valuenow", chosen.row + 1);
    stage.setAttribute("aria-valuetext", names[0][chosen.row]);
    said.textContent = rowSentence(names[0][chosen.row], names[1], weights(), chosen.key);
    onSelect(chosen);
  };
  if (spec.walk) makeWalkable(stage, plan, () => chosen, select);

  return {
    node: stage,
    said,
    select,
    fits: (queries, keys) => queries.length === plan.rows && keys.length === plan.columns,
    chosen: () => chosen,
    weights,
    paint(next, queries, keys, hidden = () => false) {
      values = next;
      names = [queries, keys];
      const cells = context.createImageData(plan.columns, plan.rows);
      values.forEach((value, index) => {
        const colour = hidden(index) ? HIDDEN : colourOf(value, spec, colours);
        cells.data.set(colour, index * 4);
        drawing.number(index, hidden(index) ? null : value, colour);
      });
      context.putImageData(cells, 0, 0);
      drawing.words(queries, keys);
      if (spec.walk) select(chosen.row, chosen.key);
    },
    bars: drawing.bars,
    spreads: drawing.spreads,
  };
}

// What a mask hides: a breath of grey over the page's own ground, dark or light.
const HIDDEN = [128, 128, 128, 45];

// Arrow keys and the mouse choose a row, and in it a key.
function makeWalkable(stage, plan, chosen, select) {
  keepKeysInside(stage);
  stage.tabIndex = 0;
  stage.classList.add("al-walk");
  stage.setAttribute("role", "slider");
  stage.setAttribute("aria-orientation", "vertical");
  stage.setAttribute("aria-label", "row that looks; up and down change it, left and right walk its keys");
  stage.setAttribute("aria-valuemin", 1);
  stage.setAttribute("aria-valuemax", plan.rows);
  stage.addEventListener("keydown", (event) => {
    const { row, key } = chosen();
    const step = moveBy(event.key, plan.rows - 1 - row, row);
    if (event.key === "Escape") select(row, null);
    else if (step === null) return;
    else if (step.across) select(row, key === null ? (step.by > 0 ? 0 : plan.columns - 1) : key + step.by);
    else select(row + step.by, key);
    event.preventDefault();
  });
  stage.addEventListener("pointermove", (event) => {
    const box = stage.getBoundingClientRect();
    const zoom = plan.width / box.width;
    const key = Math.floor(((event.clientX - box.left) * zoom - plan.left) / plan.cell);
    const row = Math.floor(((event.clientY - box.top) * zoom - plan.top) / plan.cell);
    if (row < 0 || row >= plan.rows || key < 0 || key >= plan.columns) return;
    if (row !== chosen().row || key !== chosen().key) select(row, key);
  });
}

// Where everything stands, in CSS pixels.
export function planPattern(spec) {
  const rows = spec.queries.length;
  const columns = spec.keys.length;
  const cell = Math.min(CELL_MOST, Math.max(CELL_LEAST, Math.floor(MAP_SIDE / Math.max(rows, columns))));
  const longest = (words) => Math.max(1, ...words.map((word) => word.length)) * 7.4;
  const turned = longest(spec.keys) > cell - 4;
  const wordRoom = turned ? longest(spec.keys) * 0.8 + 10 : 20;
  const left = 26 + longest(spec.queries) + 8;
  const arcs = Boolean(spec.walk) && columns >= rows;
  const top = 24 + wordRoom + (arcs ? ARC_ROOM : 0);
  const bottom = top + rows * cell;
  const barLeft = left + columns * cell + 36;
  const barName = spec.bars.length ? longest(spec.bars) + 10 : 0;
  const legend = bottom + 14 + (spec.walk ? ROW_BARS + 8 : 0);
  const mapRight = Math.max(left + columns * cell, left + 150) + 8;
  const spread = spec.spreads ? 150 : 0;
  return {
    rows, columns, cell, turned, left, top, bottom, barLeft, barName, legend, arcs,
    arcFoot: top - wordRoom - 2,
    width: spec.bars.length ? barLeft + barName + BAR_WIDTH + 52 : mapRight + spread,
    height: legend + 34,
    stride: Math.ceil(14 / cell),
    numbered: Math.max(rows, columns) <= NUMBERED,
  };
}

function placeStage(stage, canvas, svg, plan) {
  const share = (part, whole) => `${(100 * part) / whole}%`;
  stage.style.width = `${plan.width}px`;
  stage.style.aspectRatio = `${plan.width} / ${plan.height}`;
  svg.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
  canvas.width = plan.columns;
  canvas.height = plan.rows;
  canvas.style.left = share(plan.left, plan.width);
  canvas.style.top = share(plan.top, plan.height);
  canvas.style.width = share(plan.columns * plan.cell, plan.width);
  canvas.style.height = share(plan.rows * plan.cell, plan.height);
}

// Draws what stays once, and hands back the setters of what changes.
function drawPattern(svg, spec, plan) {
  drawAxisNames(svg, plan);
  drawLegend(svg, spec, plan);
  if (plan.cell >= 14) drawSeams(svg, plan);
  const rowWords = every(plan.rows, (row) => text(svg, plan.left - 8, plan.top + (row + 0.5) * plan.cell, "", "end"));
  const columnWords = every(plan.columns, (column) => columnWord(svg, plan, column));
  const numbers = plan.numbered ? drawNumbers(svg, plan) : [];
  const bars = spec.bars.map((name, index) => drawBar(svg, spec, plan, name, index));
  if (spec.bars.length && spec.barsTitle) text(svg, plan.barLeft, plan.top - 14, spec.barsTitle, "start", "al-axis");
  return {
    number(index, value, colour) {
      if (!numbers.length) return;
      const words = value === null ? "" : cellNumber(value);
      if (numbers[index].textContent !== words) numbers[index].textContent = words;
      numbers[index].setAttribute("fill", inkOn(colour));
    },
    words(queries, keys) {
      rowWords.forEach((node, row) => (node.textContent = row % plan.stride ? "" : queries[row]));
      columnWords.forEach((node, column) => (node.textContent = column % plan.stride ? "" : keys[column]));
    },
    bars: (values) => values.forEach((value, index) => bars[index](value)),
    row: spec.walk ? drawRow(svg, plan, rowWords, columnWords) : () => {},
    spreads: spec.spreads ? drawSpreads(svg, plan) : () => {},
  };
}

// The row that asks: a frame around it and around one of its cells, arcs from its word, bars under its columns.
function drawRow(svg, plan, rowWords, columnWords) {
  const x = (column) => plan.left + (column + 0.5) * plan.cell;
  const frame = makeSvg("rect", { class: "al-frame", x: plan.left, width: plan.columns * plan.cell, height: plan.cell });
  const cell = makeSvg("rect", { class: "al-frame al-frame-cell", width: plan.cell, height: plan.cell });
  const arcs = plan.arcs ? every(plan.columns, () => makeSvg("path", { class: "al-arc" })) : [];
  const floor = plan.bottom + 8 + ROW_BARS;
  const width = Math.max(2, plan.cell * 0.6);
  const bars = every(plan.columns, (column) => makeSvg("rect", { class: "al-bar", x: x(column) - width / 2, width }));
  const rule = makeSvg("path", { class: "al-rule", d: `M${plan.left} ${floor}h${plan.columns * plan.cell}` });
  svg.append(...arcs, ...bars, rule, frame, cell);
  return ({ row, key }, weights) => {
    frame.setAttribute("y", plan.top + row * plan.cell);
    cell.setAttribute("visibility", key === null ? "hidden" : "visible");
    cell.setAttribute("x", plan.left + (key ?? 0) * plan.cell);
    cell.setAttribute("y", plan.top + row * plan.cell);
    const asking = row + plan.columns - plan.rows;
    rowWords.forEach((node, index) => node.classList.toggle("al-chosen", index === row));
    columnWords.forEach((node, index) => node.classList.toggle("al-chosen", index === key));
    weights.forEach((weight, column) => {
      const share = Number.isFinite(weight) ? clamp(weight, 0, 1) : 0;
      const height = share * ROW_BARS;
      bars[column].setAttribute("y", floor - height);
      bars[column].setAttribute("height", height);
      if (plan.arcs) drawArc(arcs[column], x(asking), x(column), plan, share);
    });
  };
}

// Thicker and darker with the weight; a word that looks at itself gets a small loop.
function drawArc(path, from, to, plan, share) {
  const foot = plan.arcFoot;
  const reach = Math.abs(to - from);
  const lift = from === to ? 22 : Math.min(ARC_ROOM - 6, 18 + reach * 0.42);
  const [left, right] = from === to ? [from - 9, from + 9] : [from, to];
  path.setAttribute("d", `M${left} ${foot}C${left} ${foot - lift * 1.3} ${right} ${foot - lift * 1.3} ${right} ${foot}`);
  path.setAttribute("stroke-width", 0.75 + 5 * share);
  path.setAttribute("opacity", share < 0.02 ? 0 : 0.25 + 0.75 * share);
}

// A bar beside each row: how many bits it is spread over.
function drawSpreads(svg, plan) {
  const left = plan.left + plan.columns * plan.cell + 14;
  const room = 84;
  const group = makeSvg("g", { class: "al-spreads" });
  text(group, left, plan.top - 12, "entropy, bits", "start", "al-axis");
  const bars = every(plan.rows, (row) => {
    const y = plan.top + (row + 0.2) * plan.cell;
    const bar = makeSvg("rect", { class: "al-bar", x: left, y, height: plan.cell * 0.6 });
    group.append(bar);
    const number = plan.cell >= 14 ? text(group, 0, plan.top + (row + 0.5) * plan.cell, "", "start", "al-axis") : null;
    return (bits) => {
      const width = Math.max(1, (room * bits) / Math.max(1, Math.log2(plan.columns)));
      bar.setAttribute("width", width);
      if (!number) return;
      number.setAttribute("x", left + width + 5);
      number.textContent = bits.toFixed(1);
    };
  });
  svg.append(group);
  return (values) => {
    group.setAttribute("visibility", values ? "visible" : "hidden");
    if (values) values.forEach((bits, row) => bars[row](bits));
  };
}
function drawAxisNames(svg, plan) {
  const middle = plan.top + (plan.rows * plan.cell) / 2;
  text(svg, plan.left, 10, "key: the word looked at \u2192", "start", "al-axis");
  const query = text(svg, 0, 0, "\u2190 query: the word that looks", "middle", "al-axis");
  query.setAttribute("transform", `translate(11 ${middle}) rotate(-90)`);
}

function columnWord(svg, plan, column) {
  const x = plan.left + (column + 0.5) * plan.cell;
  if (!plan.turned) return text(svg, x, plan.top - 11, "", "middle");
  const word = text(svg, 0, 0, "", "start");
  word.setAttribute("transform", `translate(${x} ${plan.top - 7}) rotate(-52)`);
  return word;
}

// Seams in the colour of the page: neighbours of one colour stay two cells.
function drawSeams(svg, plan) {
  const right = plan.left + plan.columns * plan.cell;
  const bottom = plan.top + plan.rows * plan.cell;
  const across = every(plan.rows - 1, (row) => `M${plan.left} ${plan.top + (row + 1) * plan.cell}H${right}`);
  const down = every(plan.columns - 1, (column) => `M${plan.left + (column + 1) * plan.cell} ${plan.top}V${bottom}`);
  svg.append(makeSvg("path", { class: "al-seams", d: [...across, ...down].join("") }));
}

function drawNumbers(svg, plan) {
  const size = Math.min(13, plan.cell * 0.33);
  return every(plan.rows * plan.columns, (index) => {
    const column = index % plan.columns;
    const row = Math.floor(index / plan.columns);
    const node = text(svg, plan.left + (column + 0.5) * plan.cell, plan.top + (row + 0.5) * plan.cell, "", "middle", "al-number");
    node.style.fontSize = `${size}px`;
    return node;
  });
}

// The colour scale under the map, as a strip of 32 steps with its two ends.
function drawLegend(svg, spec, plan) {
  const colours = readColours(spec.colours);
  const low = text(svg, plan.left, plan.legend + 5, cellNumber(spec.low), "start", "al-axis");
  const start = plan.left + low.textContent.length * 7 + 6;
  every(32, (step) => {
    const [red, green, blue] = colours[Math.round((step * 255) / 31)];
    svg.append(makeSvg("rect", { x: start + step * 3, y: plan.legend, width: 3.3, height: 10, fill: `rgb(${red} ${green} ${blue})` }));
  });
  text(svg, start + 32 * 3 + 6, plan.legend + 5, cellNumber(spec.high), "start", "al-axis");
}

function drawBar(svg, spec, plan, name, index) {
  const pitch = Math.min(34, (plan.rows * plan.cell) / spec.bars.length);
  const y = plan.top + (index + 0.5) * pitch;
  const start = plan.barLeft + plan.barName;
  const place = (value) => (BAR_WIDTH * (clamp(value, spec.barsLow, spec.barsHigh) - spec.barsLow)) / (spec.barsHigh - spec.barsLow);
  const zero = place(0);
  text(svg, start - 8, y, name, "end");
  svg.append(makeSvg("rect", { class: "al-track", x: start, y: y - pitch * 0.3, width: BAR_WIDTH, height: pitch * 0.6 }));
  const bar = makeSvg("rect", { class: "al-bar", y: y - pitch * 0.3, height: pitch * 0.6 });
  svg.append(bar);
  const number = text(svg, start + BAR_WIDTH + 6, y, "", "start", "al-axis");
  return (value) => {
    const end = Number.isFinite(value) ? place(value) : zero;
    bar.setAttribute("x", start + Math.min(zero, end));
    bar.setAttribute("width", Math.max(1, Math.abs(end - zero)));
    number.textContent = cellNumber(value);
  };
}
