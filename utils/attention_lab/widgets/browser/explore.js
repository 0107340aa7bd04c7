// `explore`: controls, a line for what went wrong, one of two views, and a sentence. What belongs to a state of the
// controls comes from the kernel, from a table of all states, or is computed here.

import { drawControl, readAll } from "./controls.js";
import { makeCourier } from "./courier.js";
import { keepHeight, make } from "./dom.js";
import { figureView } from "./figure.js";
import { makeHead } from "./head.js";
import { patternView } from "./pattern.js";

const VIEWS = { figure: figureView, pattern: patternView };

export function renderExplore({ model, el }) {
  const spec = model.get("spec");
  const source = sourceOf(spec, model, el, (answer, moving) => show(answer, moving));
  const controls = spec.controls.map((control) => drawControl(control, () => source.ask(readAll(controls))));
  const trouble = make("p", { className: "al-trouble", role: "alert" });
  const view = VIEWS[spec.view.kind](spec.view);
  const said = make("p", { className: "al-said", role: "status" });
  const panel = make("div", { className: "al-controls" }, controls.map((control) => control.row));
  el.append(panel, trouble, view.node, said);

  // While the learner's hand is ahead of the answer, the controls stay where the hand is.
  const show = (answer, moving = false) => {
    if (!moving) controls.forEach((control) => control.write(answer.state[control.name]));
    trouble.textContent = answer.error;
    el.classList.toggle("al-failed", answer.error !== "");
    said.textContent = answer.text;
    keepHeight(said);
    view.paint(answer);
  };
  const waiting = (slow) => {
    el.classList.toggle("al-waiting", slow);
    if (slow) trouble.textContent = "Waiting for the kernel. If it does not answer, run this cell again.";
  };
  source.start(waiting);
  return () => {
    source.stop();
    view.remove?.();
  };
}

// Where answers come from.
function sourceOf(spec, model, el, show) {
  if (spec.head) return localSource(makeHead(spec.head), model, show);
  if (spec.frames) return localSource(frameOf(spec), model, show);
  return kernelSource(model, show);
}

function kernelSource(model, show) {
  let courier = null;
  const receive = () => {
    const answer = model.get("answer");
    const moving = courier.receive(answer);
    show(answer, moving);
  };
  return {
    start(onWaiting) {
      courier = makeCourier({ send: (message) => model.send(message), onWaiting });
      model.on("change:answer", receive);
      receive();
    },
    ask: (state) => courier.offer(state),
    stop() {
      model.off("change:answer", receive);
      courier.stop();
    },
  };
}

function localSource(answerFor, model, show) {
  let number = 0;
  const ask = (state) => show({ state, error: "", number: ++number, ...answerFor(state) });
  return { start: () => ask(model.get("answer").state), ask, stop: () => {} };
}

// A table with a frame for every state of the controls, the last control running fastest.
function frameOf({ controls, frames }) {
  return (state) => {
    const index = controls.reduce((sum, control) => sum * places(control) + placeOf(control, state[control.name]), 0);
    return frames[index];
  };
}

export function places(control) {
  if (control.kind === "slider") return Math.floor((control.high - control.low) / control.step + 1e-9) + 1;
  return control.kind === "choice" ? control.options.length : 2;
}

export function placeOf(control, value) {
  return control.kind === "slider" ? Math.round((value - control.low) / control.step) : Number(value);
}
