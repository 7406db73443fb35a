// Names of nodes, only where there is room for them.

const LABEL_LIMIT = 32;
const NARROW_LABELS = 600; // pixels; in less room, names are cut earlier

class Labels {
  constructor() {
    this.shown = new Map(); // node -> side, from the last frame: labels do not flicker
    this.widths = new Map();
  }

  // Largest dots first. size(i) is the drawn radius of a node in CSS pixels, 0 if it is hidden.
  place(view, context) {
    const candidates = this.candidates(view);
    const { width, height } = view;
    const most = width < NARROW_LABELS ? 22 : 36;
    const taken = ringOf(view);
    const labels = [];
    for (const i of candidates) {
      if (labels.length >= view.labelLimit) break;
      const text = shorten(view.scene.labels[i], most);
      if (!this.widths.has(text)) this.widths.set(text, context.measureText(text).width);
      const w = this.widths.get(text), r = view.drawnSize[i];
      const [x, y] = view.toScreen(view.shown[3 * i], view.shown[3 * i + 1]);
      const sides = [x + r + 4, x - r - 4 - w];
      const first = this.shown.get(i) ?? 0;
      for (const side of [first, 1 - first]) {
        const box = [sides[side] - 8, y - 11, sides[side] + w + 8, y + 11];
        if (box[0] < 4 || box[2] > width - 4 || box[1] < 4 || box[3] > height - 4) continue;
        if (taken.some((t) => (
          t.node !== i && t[0] < box[2] && t[2] > box[0] && t[1] < box[3] && t[3] > box[1]
        ))) continue;
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

// Where the ring of the selected node is: no other name may lie there.
function ringOf(view) {
  const i = view.selected, r = i < 0 ? 0 : view.drawnSize[i] + 4;
  if (i < 0 || !view.drawnSize[i]) return [];
  const [x, y] = view.toScreen(view.shown[3 * i], view.shown[3 * i + 1]);
  return [Object.assign([x - r, y - r, x + r, y + r], { node: i })];
}

function shorten(text, most) {
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
