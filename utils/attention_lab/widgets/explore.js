// The browser's half of `explore`: controls, a line for what went wrong, one of two views, and a sentence.
// Plain ES module for anywidget; nothing is loaded from anywhere.

const WAITING_AFTER = 1500; // ms without an answer before we say so

export default { render };

export function render({ model, el }) {
  const spec = model.get("spec");
  el.classList.add("attention-lab-explore");
  keepKeysInside(el);

  const controls = spec.controls.map((control) => drawControl(control, () => courier.offer(readAll(controls))));
  const trouble = make("p", { className: "al-trouble", role: "alert" });
  const view = VIEWS[spec.view.kind](spec.view);
  const said = make("p", { className: "al-said", role: "status" });
  const panel = make("div", { className: "al-controls" }, controls.map((control) => control.row));
  el.append(panel, trouble, view.node, said);

  const courier = makeCourier({
    send: (message) => model.send(message),
    onWaiting: (waiting) => {
      el.classList.toggle("al-waiting", waiting);
      if (waiting) trouble.textContent = "Waiting for the kernel. If it does not answer, run this cell again.";
    },
  });

  const show = () => {
    const answer = model.get("answer");
    const moving = courier.receive(answer);
    // While the learner's hand is ahead of the answer, the controls stay where the hand is.
    if (!moving) controls.forEach((control) => control.write(answer.state[control.name]));
    trouble.textContent = answer.error;
    el.classList.toggle("al-failed", answer.error !== "");
    said.textContent = answer.text;
    keepHeight(said);
    view.paint(answer);
  };
  model.on("change:answer", show);
  show();
  return () => {
    model.off("change:answer", show);
    courier.stop();
    view.remove?.();
  };
}

// -- one request at a time, the newest wins ---------------------------------------------------------------------

// At most one request is under way; while it is, only the newest state is kept. So a drag never queues up, and the
// last position is always the one that is shown in the end.
export function makeCourier({ send, onWaiting = () => {}, later = setTimeout, never = clearTimeout }) {
  const view = Math.random().toString(36).slice(2);
  let number = 0;
  let underWay = false;
  let pending = null;
  let timer = null;

  const dispatch = (state) => {
    underWay = true;
    number += 1;
    timer = later(() => onWaiting(true), WAITING_AFTER);
    send({ view, number, state });
  };
  const settle = () => {
    never(timer);
    onWaiting(false);
    underWay = false;
  };
  return {
    offer(state) {
      if (underWay) pending = state;
      else dispatch(state);
    },
    // Returns whether the learner is ahead of this answer.
    receive(answer) {
      if (answer.view === view && answer.number === number && underWay) {
        settle();
        if (pending !== null) {
          const state = pending;
          pending = null;
          dispatch(state);
        }
      }
      return underWay;
    },
    stop: () => never(timer),
  };
}

// -- controls ---------------------------------------------------------------------------------------------------

// JupyterLab takes any focused control in an output for its command mode: `d,d` would delete the cell and the arrow
// keys would leave it. It listens further up, so the keys stop here.
export function keepKeysInside(el) {
  for (const kind of ["keydown", "keypress", "keyup"]) el.addEventListener(kind, (event) => event.stopPropagation());
}

function readAll(controls) {
  return Object.fromEntries(controls.map((control) => [control.name, control.read()]));
}

function drawControl(spec, onInput) {
  return CONTROLS[spec.kind](spec, onInput);
}

const CONTROLS = {
  slider(spec, onInput) {
    const input = make("input", { type: "range", min: spec.low, max: spec.high, step: spec.step });
    const output = make("output", { className: "al-value" });
    const name = () => {
      const text = formatValue(Number(input.value), spec);
      output.textContent = text;
      input.setAttribute("aria-valuetext", text);
    };
    input.addEventListener("input", () => {
      name();
      onInput();
    });
    // Room for the widest value, so that the slider's right end stays put.
    output.style.minWidth = `${Math.max(formatValue(spec.low, spec).length, formatValue(spec.high, spec).length) + 1}ch`;
    const row = makeRow(spec.label, input, output);
    const write = (value) => {
      if (Number(input.value) !== value || output.textContent === "") {
        input.value = value;
        name();
      }
    };
    return { name: spec.name, row, read: () => Number(input.value), write };
  },

  choice(spec, onInput) {
    const options = spec.options.map((text, index) => make("option", { value: index, textContent: text }));
    const input = make("select", {}, options);
    input.addEventListener("change", onInput);
    const row = makeRow(spec.label, input);
    return { name: spec.name, row, read: () => Number(input.value), write: (value) => (input.value = value) };
  },

  toggle(spec, onInput) {
    const input = make("input", { type: "checkbox" });
    input.addEventListener("change", onInput);
    const tick = make("label", { className: "al-tick" }, [input, make("span", {}, [spec.label])]);
    const row = make("div", { className: "al-row" }, [make("span"), tick]);
    return { name: spec.name, row, read: () => input.checked, write: (value) => (input.checked = value) };
  },
};

// The label names the input and nothing else, so that a screen reader does not read the value twice.
function makeRow(label, input, ...rest) {
  input.id = `al-${Math.random().toString(36).slice(2)}`;
  const name = make("label", { className: "al-name", htmlFor: input.id }, [label]);
  return make("div", { className: "al-row" }, [name, input, ...rest]);
}

export function formatValue(value, { decimals, unit }) {
  const number = value.toFixed(decimals).replace("-", "\u2212");
  return unit ? `${number} ${unit}` : number;
}

// -- views ------------------------------------------------------------------------------------------------------

const VIEWS = { figure: figureView, pattern: patternView };

// A picture made by the kernel. The new one takes the old one's place only when it can be painted at once, so no
// frame is without a picture, and an older picture that is ready late is dropped.
function figureView(spec) {
  const image = make("img", { className: "al-figure", width: spec.width, height: spec.height, alt: "" });
  let newest = 0;
  let shown = 0;
  let address = null;

  async function paint(answer) {
    const ticket = ++newest;
    const next = URL.createObjectURL(new Blob([copyBytes(answer.content)], { type: "image/png" }));
    const loader = new Image();
    loader.src = next;
    try {
      await loader.decode();
    } catch {
      URL.revokeObjectURL(next);
      return;
    }
    if (ticket < shown) {
      URL.revokeObjectURL(next);
      return;
    }
    shown = ticket;
    const old = address;
    address = next;
    image.src = next;
    image.alt = answer.text;
    image.dataset.number = answer.number;
    if (old) setTimeout(() => URL.revokeObjectURL(old), 1000);
  }
  return { node: image, paint, remove: () => address && URL.revokeObjectURL(address) };
}

const CELL_MOST = 54;
const CELL_LEAST = 5;
const MAP_SIDE = 400;
const BAR_WIDTH = 170;
const NUMBERED = 12;

// A heat map painted here from the numbers: cells on a canvas of one pixel a cell, words and numbers in an SVG above it.
function patternView(spec) {
  const canvas = make("canvas", { className: "al-cells" });
  const svg = makeSvg("svg", { "aria-hidden": "true" });
  const title = spec.title ? [make("p", { className: "al-title" }, [spec.title])] : [];
  const stage = make("div", { className: "al-stage", role: "img" }, [canvas, svg]);
  const node = make("div", { className: "al-pattern" }, [...title, stage]);
  const colours = readColours(spec.colours);
  const plan = planPattern(spec);
  const drawing = drawPattern(svg, canvas, spec, plan);
  placeStage(stage, canvas, svg, plan);
  const context = canvas.getContext("2d");

  function paint(answer) {
    const values = new Float32Array(copyBytes(answer.content));
    const cells = context.createImageData(plan.columns, plan.rows);
    values.forEach((value, index) => {
      const colour = colourOf(value, spec, colours);
      cells.data.set(colour, index * 4);
      drawing.number(index, value, colour);
    });
    context.putImageData(cells, 0, 0);
    drawing.words(answer.detail.queries ?? spec.queries, answer.detail.keys ?? spec.keys);
    drawing.bars(answer.detail.bars);
    stage.setAttribute("aria-label", [spec.title, answer.text].filter(Boolean).join(". "));
    stage.dataset.number = answer.number;
  }
  return { node, paint };
}

// Where everything stands, in CSS pixels.
export function planPattern(spec) {
  const rows = spec.queries.length;
  const columns = spec.keys.length;
  const cell = Math.min(CELL_MOST, Math.max(CELL_LEAST, Math.floor(MAP_SIDE / Math.max(rows, columns))));
  const longest = (words) => Math.max(1, ...words.map((word) => word.length)) * 7.4;
  const turned = longest(spec.keys) > cell - 4;
  const left = 26 + longest(spec.queries) + 8;
  const top = 24 + (turned ? longest(spec.keys) * 0.8 + 10 : 20);
  const barLeft = left + columns * cell + 36;
  const barName = spec.bars.length ? longest(spec.bars) + 10 : 0;
  const legend = top + rows * cell + 14;
  const mapRight = Math.max(left + columns * cell, left + 150) + 8;
  return {
    rows, columns, cell, turned, left, top, barLeft, barName, legend,
    width: spec.bars.length ? barLeft + barName + BAR_WIDTH + 52 : mapRight,
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
function drawPattern(svg, canvas, spec, plan) {
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
      numbers[index].textContent = cellNumber(value);
      numbers[index].setAttribute("fill", inkOn(colour));
    },
    words(queries, keys) {
      rowWords.forEach((node, row) => (node.textContent = row % plan.stride ? "" : queries[row]));
      columnWords.forEach((node, column) => (node.textContent = column % plan.stride ? "" : keys[column]));
    },
    bars: (values) => values.forEach((value, index) => bars[index](value)),
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

// -- numbers and colours ----------------------------------------------------------------------------------------

const NO_NUMBER = [208, 208, 208, 255];

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

// -- little tools -----------------------------------------------------------------------------------------------

// A sentence may grow by a line; the page under it moves down then, and never back up.
function keepHeight(node) {
  const height = Math.max(parseFloat(node.style.minHeight) || 0, node.getBoundingClientRect().height);
  if (height) node.style.minHeight = `${height}px`;
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

function every(count, build) {
  return Array.from({ length: Math.max(0, count) }, (_, index) => build(index));
}

function make(tag, properties = {}, children = []) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in node && key !== "role") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function makeSvg(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function text(svg, x, y, words, anchor, kind = "al-word") {
  const node = makeSvg("text", { x, y, "text-anchor": anchor, "dominant-baseline": "central", class: kind });
  node.textContent = words;
  svg.append(node);
  return node;
}
