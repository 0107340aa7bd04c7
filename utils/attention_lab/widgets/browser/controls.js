// What a learner moves: sliders, choices, toggles.

import { make } from "./dom.js";

// JupyterLab takes any focused control in an output for its command mode: `d,d` would delete the cell and the arrow
// keys would leave it. It listens further up, so the keys stop here.
export function keepKeysInside(el) {
  for (const kind of ["keydown", "keypress", "keyup"]) el.addEventListener(kind, (event) => event.stopPropagation());
}

export function readAll(controls) {
  return Object.fromEntries(controls.map((control) => [control.name, control.read()]));
}

export function drawControl(spec, onInput) {
  return CONTROLS[spec.kind](spec, onInput);
}

export const CONTROLS = {
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
export function makeRow(label, input, ...rest) {
  input.id = `al-${Math.random().toString(36).slice(2)}`;
  const name = make("label", { className: "al-name", htmlFor: input.id }, [label]);
  return make("div", { className: "al-row" }, [name, input, ...rest]);
}

export function formatValue(value, { decimals, unit }) {
  const number = value.toFixed(decimals).replace("-", "\u2212");
  return unit ? `${number} ${unit}` : number;
}

// What an arrow key means in a grid: a step down or across; Home and End go to the ends. Null for any other key.
export function moveBy(key, toEnd, toStart) {
  const steps = { ArrowDown: 1, ArrowUp: -1, End: toEnd, Home: -toStart };
  if (key in steps) return { by: steps[key], across: false };
  if (key === "ArrowRight" || key === "ArrowLeft") return { by: key === "ArrowRight" ? 1 : -1, across: true };
  return null;
}
