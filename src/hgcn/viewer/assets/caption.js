// What a saved picture says beneath the disk: title, layer, what was lost, and the legend.

const LINE_SAMPLE = 24;
const CAPTION = { size: 12, line: 17, margin: 20, swatch: 16, gap: 18 };

// Texts and marks of the caption, placed below a picture of some width: { height, items }. An item is
// { text, x, y, strong, soft } or { mark, colour, x, y } or { ramp, x, y, width } or
// { dashes, colour, x, y, width }.
function captionOf(app, views, places, width, measure) {
  const items = [];
  let bottom = 0;
  views.forEach((view, k) => {
    const { scene } = view, layer = scene.layers[view.layer];
    const x = places[k][0] + CAPTION.margin, room = view.width - 2 * CAPTION.margin;
    let y = CAPTION.line;
    const write = (text, look = {}) => {
      for (const line of wrapped(text, room, (part) => measure(part, look.strong))) {
        items.push({ text: line, x, y, ...look });
        y += CAPTION.line;
      }
    };
    write(scene.name, { strong: true });
    write(`${layer.title}, ${curvatureText(layer)}. ${view.element.querySelector(".facts").textContent}.`);
    if (layer.lost) write(`${lostText(layer)}.`, { soft: true });
    if (view.selected >= 0) write(`Selected: ${scene.labels[view.selected]}.`, { soft: true });
    bottom = Math.max(bottom, y);
  });
  const legend = legendItems(app, views, width, measure, bottom);
  return { height: legend.bottom + 4, items: [...items, ...legend.items] };
}

function legendItems(app, views, width, measure, top) {
  const column = app.currentColumn();
  const items = [];
  let x = CAPTION.margin, y = top + 4;
  const put = (text, swatch) => {
    const before = swatch?.width ? swatch.width + 6 : swatch ? CAPTION.swatch : 0;
    const wide = measure(text) + before;
    if (x > CAPTION.margin && x + wide > width - CAPTION.margin) {
      x = CAPTION.margin;
      y += CAPTION.line;
    }
    if (swatch) items.push({ ...swatch, x: x + (swatch.width ? 0 : 5), y });
    items.push({ text, x: x + before, y, soft: !swatch });
    x += wide + CAPTION.gap;
  };
  if (column?.codes) {
    put(column.name);
    column.names.forEach((name, code) => {
      if (!column.counts[code]) return;
      put(name, { mark: categoryMark(code), colour: categoryColour(code, app.theme) });
    });
    if (column.counts[column.names.length]) put("unknown", { mark: 0, colour: UNKNOWN[app.theme] });
  } else if (column) {
    put(column.name);
    put(formatNumber(column.low));
    items.push({ ramp: RAMPS[app.theme], x: x - 8, y, width: 110 });
    x += 110;
    put(formatNumber(column.high));
  }
  for (const { text, ...line } of linesOf(app, views)) {
    put(text, { ...line, width: LINE_SAMPLE });
  }
  return { items, bottom: y + CAPTION.line };
}

// What the dashed and dotted lines are, where there are any.
function linesOf(app, views) {
  const lines = [];
  const links = app.options.missing ? Math.max(0, ...views.map((view) => view.missingShown().length)) : 0;
  if (links) {
    const text = links === 1 ? "the most probable link" : `${links} probable links`;
    lines.push({ text, dashes: [5, 4], colour: app.colour("missing") });
  }
  if (views.some((view) => view.nearest.length)) {
    lines.push({ text: "nearest in the model", dashes: [1.5, 3.5], colour: app.colour("nearest") });
  }
  return lines;
}

// Lines of words that are no wider than the room; a word that is wider has its own line.
function wrapped(text, room, measure) {
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && measure(`${last} ${word}`) <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function captionFont(strong) {
  return `${strong ? 600 : 400} ${CAPTION.size}px Inter, Helvetica, Arial, sans-serif`;
}

function measureIn(context) {
  return (text, strong) => {
    context.font = captionFont(strong);
    return context.measureText(text).width;
  };
}

function drawCaption(context, app, caption, top) {
  context.textBaseline = "middle";
  for (const item of caption.items) {
    const y = top + item.y;
    if (item.text !== undefined) {
      context.font = captionFont(item.strong);
      context.fillStyle = app.colour(item.soft ? "soft" : "ink");
      context.fillText(item.text, item.x, y);
    } else if (item.ramp) {
      const fill = context.createLinearGradient(item.x, 0, item.x + item.width, 0);
      item.ramp.forEach((colour, k) => fill.addColorStop(k / (item.ramp.length - 1), colour));
      context.fillStyle = fill;
      context.fillRect(item.x, y - 5, item.width, 10);
    } else if (item.dashes) {
      context.setLineDash(item.dashes);
      context.strokeStyle = item.colour;
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(item.x, y);
      context.lineTo(item.x + item.width, y);
      context.stroke();
      context.setLineDash([]);
    } else {
      const corners = markCorners(item.mark, 5);
      context.beginPath();
      if (corners) for (const [dx, dy] of corners) context.lineTo(item.x + dx, y + dy);
      else context.arc(item.x, y, 5, 0, 7);
      context.closePath();
      context.fillStyle = context.strokeStyle = item.colour;
      context.lineWidth = 2.2;
      if (isHollow(item.mark)) context.stroke();
      else context.fill();
    }
  }
}
