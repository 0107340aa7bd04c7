// What anywidget calls. Everything is in this one text when it reaches the browser (see bundle.py): nothing is loaded.

import { keepKeysInside } from "./controls.js";
import { renderExplore } from "./explore.js";
import { renderSteps } from "./steps.js";
import { renderViewer } from "./viewer.js";

const KINDS = { explore: renderExplore, viewer: renderViewer, steps: renderSteps };

export function render({ model, el }) {
  el.classList.add("attention-lab-explore");
  keepKeysInside(el);
  return KINDS[model.get("spec").kind]({ model, el });
}

export default { render };
