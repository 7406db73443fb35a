// Names of nodes, only where there is room for them.

const LABEL_LIMIT = 32;

class Labels {
  constructor() {
    this.shown = new Map(); // node -> side, from the last frame: labels do not flicker
    this.widths = new Map();
  }

  // Largest dots first. size(i) is the drawn radius of a node in CSS pixels, 0 if it is hidden.
  place(view, context) {
    const candidates = this.candidates(view);
    const taken = [];
    const labels = [];
    const { width, height } = view;
    for (const i of candidates) {
      if (labels.length >= view.labelLimit) break;
      const text = shorten(view.scene.labels[i]);
      if (!this.widths.has(text)) this.widths.set(text, context.measureText(text).width);
      const w = this.widths.get(text), r = view.drawnSize[i];
      const [x, y] = view.toScreen(view.shown[3 * i], view.shown[3 * i + 1]);
      const sides = [x + r + 4, x - r - 4 - w];
      const first = this.shown.get(i) ?? 0;
      for (const side of [first, 1 - first]) {
        const box = [sides[side] - 8, y - 11, sides[side] + w + 8, y + 11];
        if (box[0] < 4 || box[2] > width - 4 || box[1] < 4 || box[3] > height - 4) continue;
        if (taken.some((t) => t[0] < box[2] && t[2] > box[0] && t[1] < box[3] && t[3] > box[1])) {
          continue;
        }
        taken.push(box);
        labels.push({ node: i, text, x: sides[side], y, side });
        break;
      }
    }
    this.shown = new Map(labels.map((label) => [label.node, label.side]));
    return labels;
  }

  candidates(view) {
    if (view.focus !== null) return this.focused(view);
    const { drawnSize } = view;
    const score = (i) => drawnSize[i] * (this.shown.has(i) ? 1.3 : 1);
    // A histogram finds the size above which some hundred nodes lie, without sorting all of them.
    const bins = new Int32Array(64);
    const bin = (value) => Math.min(63, Math.floor(value * 4));
    for (let i = 0; i < drawnSize.length; i++) if (drawnSize[i] > 0) bins[bin(score(i))]++;
    let least = 63;
    for (let total = bins[63]; least > 4 && total < 160; ) total += bins[--least];
    const found = [];
    for (let i = 0; i < drawnSize.length; i++) {
      if (drawnSize[i] > 0 && bin(score(i)) >= least) found.push(i);
    }
    if (found.length > 1500) found.length = 1500;
    found.sort((p, q) => score(q) - score(p) || p - q);
    return found;
  }

  // With a selection its nodes come first, and only they are named.
  focused(view) {
    const all = [view.selected];
    for (let i = 0; i < view.focus.length && all.length < 400; i++) {
      if (view.focus[i] && view.drawnSize[i] > 0 && i !== view.selected) all.push(i);
    }
    return all.sort((p, q) => (q === view.selected) - (p === view.selected)
      || view.drawnSize[q] - view.drawnSize[p]);
  }
}

function shorten(text, most = 36) {
  const glyphs = Array.from(text.slice(0, 4 * most));
  return glyphs.length > most ? `${glyphs.slice(0, most - 1).join("")}…` : text;
}

function drawLabels(context, labels, style) {
  context.font = style.font;
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = style.halo;
  context.fillStyle = style.ink;
  for (const { text, x, y } of labels) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}
