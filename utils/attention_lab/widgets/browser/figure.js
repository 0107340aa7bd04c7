import { make } from "./dom.js";
import { copyBytes } from "./numbers.js";

// A picture made by the kernel. The new one takes the old one's place only when it can be painted at once, so no
// frame is without a picture, and an older picture that is ready late is dropped.
export function figureView(spec) {
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
