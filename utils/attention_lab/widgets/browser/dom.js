// Little tools.

// A sentence may grow by a line; the page under it moves down then, and never back up.
export function keepHeight(node) {
  const height = Math.max(parseFloat(node.style.minHeight) || 0, node.getBoundingClientRect().height);
  if (height) node.style.minHeight = `${height}px`;
}

export function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

export function every(count, build) {
  return Array.from({ length: Math.max(0, count) }, (_, index) => build(index));
}

export function make(tag, properties = {}, children = []) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in node && key !== "role") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

export function makeSvg(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

export function text(svg, x, y, words, anchor, kind = "al-word") {
  const node = makeSvg("text", { x, y, "text-anchor": anchor, "dominant-baseline": "central", class: kind });
  node.textContent = words;
  svg.append(node);
  return node;
}
