// The attention viewer: every head of every layer as a thumbnail, one of them large, its rows to be walked.

import { entropyBits, headScores, isHidden, underMask, weightedBy } from "./attention.js";
import { CONTROLS, moveBy } from "./controls.js";
import { every, make } from "./dom.js";
import { colourOf, copyBytes, readColours } from "./numbers.js";
import { drawMap } from "./pattern.js";
import { entropySentence } from "./words.js";

const ORDERS = ["as in the model", "looks at the word before", "looks at the first token", "induction"];
const SCORES = [null, "previous", "first", "induction"];

export function renderViewer({ model, el }) {
  const spec = model.get("spec");
  const heads = readHeads(model.get("content"), spec);
  const state = { layer: spec.layer, head: spec.head, order: 0, mask: false, spread: false, sizes: false };
  const map = drawMap({ ...spec, bars: [], walk: true, spreads: true }, () => tell());
  const title = make("p", { className: "al-title" }, [spec.title]);
  const which = make("p", { className: "al-which", role: "status" });
  const said = make("p", { className: "al-said" });

  const layer = CONTROLS.slider(wholeSlider("layer", spec.layers - 1), () => pick(layer.read(), state.head));
  const head = CONTROLS.slider(wholeSlider("head", spec.heads - 1), () => pick(state.layer, head.read()));
  const order = CONTROLS.choice({ name: "order", label: "sort heads by", options: ORDERS }, () => {
    state.order = order.read();
    gallery.sort(SCORES[state.order]);
  });
  const toggle = (name, label) => {
    const control = CONTROLS.toggle({ name, label }, () => {
      state[name] = control.read();
      paint();
    });
    return control;
  };
  const toggles = [toggle("spread", "entropy of each row")];
  if (spec.T <= spec.S) toggles.unshift(toggle("mask", "causal mask"));
  if (spec.sized) toggles.push(toggle("sizes", "weights times the size of the value"));
  const controls = [...(spec.layers > 1 ? [layer] : []), ...(spec.heads > 1 ? [head] : []), order, ...toggles];

  const gallery = drawGallery(heads, spec, pick);
  const panel = make("div", { className: "al-controls" }, controls.map((control) => control.row));
  const main = make("div", { className: "al-pattern" }, [which, map.node, map.said, said]);
  const manyHeads = spec.layers * spec.heads > 1;
  el.append(title, panel, ...(manyHeads ? [gallery.node] : []), main);

  function pick(nextLayer, nextHead) {
    state.layer = nextLayer;
    state.head = nextHead;
    layer.write(nextLayer);
    head.write(nextHead);
    paint();
  }

  function paint() {
    const one = heads[state.layer * spec.heads + state.head];
    let pattern = Float64Array.from(one.pattern);
    if (state.mask) pattern = underMask(pattern, spec.T, spec.S);
    if (state.sizes) pattern = weightedBy(pattern, one.sizes, spec.T, spec.S);
    const hidden = state.mask ? (index) => isHidden(index, spec.T, spec.S) : undefined;
    map.paint(pattern, spec.queries, spec.keys, hidden);
    const row = (index) => pattern.subarray(index * spec.S, (index + 1) * spec.S);
    map.spreads(state.spread ? every(spec.T, (index) => entropyBits(row(index))) : null);
    which.textContent = `Layer ${state.layer}, head ${state.head}. ${scoresInWords(one.scores)}`;
    gallery.choose(state.layer * spec.heads + state.head);
    map.node.dataset.number = Number(map.node.dataset.number ?? 0) + 1;
    tell();
  }

  function tell() {
    said.textContent = state.spread ? entropySentence(map.weights()) : "";
  }
  pick(state.layer, state.head);
  return () => {};
}

function wholeSlider(name, high) {
  return { name, label: name, unit: "", low: 0, high: Math.max(1, high), step: 1, decimals: 0 };
}

// Cuts the one long array into heads.
function readHeads(content, spec) {
  const { T, S, layers, heads, keys } = spec;
  const numbers = new Float32Array(copyBytes(content.patterns));
  const sizes = content.sizes ? new Float32Array(copyBytes(content.sizes)) : null;
  return every(layers * heads, (index) => {
    const pattern = numbers.subarray(index * T * S, (index + 1) * T * S);
    return {
      pattern,
      sizes: sizes?.subarray(index * S, (index + 1) * S),
      scores: headScores(pattern, T, S, keys),
    };
  });
}

function scoresInWords(scores) {
  const words = { previous: "the word before", first: "the first token", induction: "the word after the last time" };
  const parts = Object.entries(words).filter(([kind]) => Number.isFinite(scores[kind]));
  return `Mean weight on ${parts.map(([kind, name]) => `${name} ${scores[kind].toFixed(2)}`).join(", on ")}.`;
}

// A button with a small picture for each head. One of them can be tabbed to; arrow keys go from there.
function drawGallery(heads, spec, pick) {
  const node = make("div", { className: "al-gallery", role: "group" });
  node.setAttribute("aria-label", "all heads");
  node.style.setProperty("--al-heads", Math.min(spec.heads, 12));
  const colours = readColours(spec.colours);
  const buttons = heads.map((head, index) => {
    const [layer, place] = [Math.floor(index / spec.heads), index % spec.heads];
    const caption = make("span", {}, [`${layer}.${place}`]);
    const button = make("button", { type: "button", tabIndex: -1 }, [thumbnail(head.pattern, spec, colours), caption]);
    button.setAttribute("aria-label", `layer ${layer}, head ${place}`);
    button.addEventListener("click", () => pick(layer, place));
    return { button, caption, layer, place };
  });
  let ordered = buttons;

  node.addEventListener("keydown", (event) => {
    const here = ordered.findIndex(({ button }) => button === document.activeElement);
    const step = moveBy(event.key, 0, 0);
    if (here < 0 || step === null) return;
    const by = step.across ? step.by : step.by * Math.min(spec.heads, 12);
    const next = event.key === "Home" ? 0 : event.key === "End" ? ordered.length - 1 : here + by;
    event.preventDefault();
    const target = ordered[next];
    if (!target) return;
    pick(target.layer, target.place);
    target.button.focus();
  });
  node.append(...buttons.map(({ button }) => button));
  return {
    node,
    choose(index) {
      buttons.forEach(({ button }, other) => {
        button.setAttribute("aria-pressed", other === index);
        button.tabIndex = other === index ? 0 : -1;
      });
    },
    sort(kind) {
      const of = ({ layer, place }) => heads[layer * spec.heads + place].scores[kind];
      const rank = (one) => (Number.isFinite(of(one)) ? of(one) : -1);
      ordered = kind === null ? buttons : [...buttons].sort((a, b) => rank(b) - rank(a));
      for (const one of ordered) {
        const score = kind === null ? "" : Number.isFinite(of(one)) ? of(one).toFixed(2) : "\u2013";
        one.caption.textContent = [`${one.layer}.${one.place}`, score].filter(Boolean).join("\n");
        one.button.setAttribute("aria-label", `layer ${one.layer}, head ${one.place}${score && `, ${score}`}`);
      }
      node.append(...ordered.map(({ button }) => button));
    },
  };
}

function thumbnail(pattern, { T, S, low, high }, colours) {
  const canvas = make("canvas", { width: S, height: T });
  const context = canvas.getContext("2d");
  const cells = context.createImageData(S, T);
  pattern.forEach((weight, index) => cells.data.set(colourOf(weight, { low, high }, colours), index * 4));
  context.putImageData(cells, 0, 0);
  return canvas;
}
