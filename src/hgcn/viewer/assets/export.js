// The picture as a PNG (twice the pixels of the screen) and as an SVG drawing, with their caption.

const SVG = "http://www.w3.org/2000/svg";
// From the middle of a line to the baseline: not every program knows other places for a text.
const TO_BASELINE = 3.4;
const FONT = "Inter, Helvetica, Arial, sans-serif";

function exportSize(views) {
  const boxes = views.map((view) => view.element.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  const width = Math.max(...boxes.map((box) => box.right)) - left;
  const height = Math.max(...boxes.map((box) => box.bottom)) - top;
  return { width, height, places: boxes.map((box) => [box.left - left, box.top - top]) };
}

// Everything is drawn as on white paper while a picture is saved, and then as it was.
function whileExporting(views, work) {
  const { app } = views[0];
  app.exporting = true;
  try {
    return work(app);
  } finally {
    app.exporting = false;
    for (const view of views) {
      view.resize();
      view.draw(false); // at once, or the screen would flash
    }
  }
}

function exportPNG(views, scale = 2) {
  return whileExporting(views, (app) => {
    const { width, height, places } = exportSize(views);
    const canvas = make("canvas", {});
    const context = canvas.getContext("2d");
    const caption = captionOf(app, views, places, width, measureIn(context));
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round((height + caption.height) * scale);
    context.fillStyle = app.colour("paper");
    context.fillRect(0, 0, canvas.width, canvas.height);
    views.forEach((view, k) => {
      const layers = [view.under, view.middle, view.over];
      for (const layer of layers) {
        layer.width = Math.round(view.width * scale);
        layer.height = Math.round(view.height * scale);
      }
      view.fade = 1;
      view.draw(false, scale);
      for (const layer of layers) context.drawImage(layer, places[k][0] * scale, places[k][1] * scale);
    });
    context.scale(scale, scale);
    drawCaption(context, app, caption, height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  });
}

function exportSVG(views) {
  return whileExporting(views, (app) => {
    const { width, height, places } = exportSize(views);
    const caption = captionOf(app, views, places, width, measureIn(make("canvas", {}).getContext("2d")));
    const drawing = document.implementation.createDocument(SVG, "svg");
    const root = drawing.documentElement;
    const add = (parent, tag, attributes, text) => {
      const element = drawing.createElementNS(SVG, tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      if (text !== undefined) element.textContent = printable(text);
      parent.append(element);
      return element;
    };
    const all = { width: round(width), height: round(height + caption.height) };
    root.setAttribute("viewBox", `0 0 ${all.width} ${all.height}`);
    root.setAttribute("width", all.width);
    root.setAttribute("height", all.height);
    add(root, "title", {}, views.map((view) => view.scene.name).join(" and "));
    add(root, "rect", { ...all, fill: app.colour("paper") });
    views.forEach((view, k) => {
      view.fade = 1;
      view.draw(false);
      const clip = `view-${k}`;
      add(add(root, "clipPath", { id: clip }), "rect", { width: round(view.width), height: round(view.height) });
      const group = add(root, "g", {
        transform: `translate(${round(places[k][0])} ${round(places[k][1])})`,
        "clip-path": `url(#${clip})`,
      });
      drawSVG(view, group, add);
    });
    captionSVG(app, caption, add(root, "g", { transform: `translate(0 ${round(height)})` }), add);
    return new XMLSerializer().serializeToString(drawing);
  });
}

function drawSVG(view, group, add) {
  const { app } = view;
  const disk = { cx: round(view.centreX), cy: round(view.centreY), r: round(view.radius) };
  if (view.space.curved) diskSVG(view, disk, group, add);
  const edges = add(group, "g", { fill: "none", "stroke-width": view.edgeWidth });
  for (const { floats, words, count } of view.app.options.edges ? view.arcs : []) {
    for (let k = 0; k < count; k++) {
      const o = 5 * k;
      add(edges, "path", {
        d: edgePath(view, floats[o], floats[o + 1], floats[o + 2], floats[o + 3]),
        stroke: hexColour(words[o + 4]),
        "stroke-opacity": ((words[o + 4] >>> 24) / 255).toFixed(2),
      });
    }
  }
  const nodes = add(group, "g", { stroke: app.colour("disk"), "stroke-width": 0.6 });
  const { floats, words, count } = view.dots;
  for (let k = 0; k < count; k++) {
    const o = 5 * k, word = words[o + 4];
    const [x, y] = view.toScreen(floats[o], floats[o + 1]);
    const faint = word >>> 24 < 200 ? { opacity: ((word >>> 24) / 255).toFixed(2) } : {};
    markSVG(nodes, add, x, y, floats[o + 2] / view.ratio, floats[o + 3], hexColour(word), faint);
  }
  const at = (i) => [view.shown[3 * i], view.shown[3 * i + 1]];
  const line = (parent, i, j, more = {}) => add(parent, "path", { d: edgePath(view, ...at(i), ...at(j)), ...more });
  // As on the screen, all that is marked lies above the dots.
  if (view.selected >= 0 && view.visible[view.selected]) starSVG(view, group, add, line);
  if (app.options.missing) {
    const dashed = add(group, "g", {
      fill: "none", stroke: app.colour("missing"), "stroke-width": 1.6, "stroke-dasharray": "5 4",
    });
    const links = view.missingShown();
    for (const [s, t] of links) line(dashed, s, t);
    const rings = add(group, "g", { fill: "none", stroke: app.colour("missing"), "stroke-width": 1.6 });
    for (const [s, t] of links) if (view.coincide(s, t)) ringSVG(view, rings, add, s, 3);
  }
  if (view.nearest.length) {
    const dotted = add(group, "g", {
      fill: "none", stroke: app.colour("nearest"), "stroke-width": 2, "stroke-dasharray": "1.5 3.5",
      "stroke-linecap": "round",
    });
    for (const { node } of view.nearest) if (view.visible[node]) line(dotted, view.selected, node);
  }
  namesSVG(view, group, add);
  if (view.selected >= 0 && view.drawnSize[view.selected]) {
    ringSVG(view, group, add, view.selected, 3.5, { fill: "none", stroke: app.colour("accent"), "stroke-width": 2 });
  }
}

// The disk, darker towards its rim, and the circles of equal distance from the origin.
function diskSVG(view, disk, group, add) {
  const { app } = view, name = `disk-${app.views.indexOf(view)}`;
  const fill = add(group, "radialGradient", { id: name });
  for (const [offset, colour] of DISK_FILL) add(fill, "stop", { offset, "stop-color": app.colour(colour) });
  add(add(group, "clipPath", { id: `${name}-clip` }), "circle", disk);
  add(group, "circle", { ...disk, fill: `url(#${name})`, stroke: app.colour("rim-line"), "stroke-width": 1.25 });
  const rings = add(group, "g", { fill: "none", stroke: app.colour("grid"), "clip-path": `url(#${name}-clip)` });
  for (const { x, y, size } of view.rings(1)) add(rings, "circle", { cx: round(x), cy: round(y), r: round(size) });
}

// The edges of the selected node, as wide as its attention.
function starSVG(view, group, add, line) {
  const { scene, selected } = view;
  const star = add(group, "g", {
    fill: "none", stroke: view.app.colour("accent"), "stroke-opacity": round(view.starInk(selected)),
  });
  const rows = describeNeighbours(scene, scene.layers[view.layer], view.space, selected);
  for (const { node, weight } of rows.slice(0, MOST_STAR)) {
    if (view.visible[node]) line(star, selected, node, { "stroke-width": round(starWidth(weight)) });
  }
}

function ringSVG(view, parent, add, node, gap, look = {}) {
  const [x, y] = view.toScreen(view.shown[3 * node], view.shown[3 * node + 1]);
  add(parent, "circle", { cx: round(x), cy: round(y), r: round(view.drawnSize[node] + gap), ...look });
}

function markSVG(parent, add, x, y, size, mark, colour, more) {
  const corners = markCorners(mark, size);
  const look = isHollow(mark)
    ? { ...more, fill: "none", stroke: colour, "stroke-width": round(0.45 * size) }
    : { ...more, fill: colour };
  if (!corners) add(parent, "circle", { cx: round(x), cy: round(y), r: round(size), ...look });
  else add(parent, "polygon", { points: corners.map(([dx, dy]) => `${round(x + dx)},${round(y + dy)}`).join(" "), ...look });
}

// Names with a halo: the same text twice, since not every program knows how to paint the stroke first.
function namesSVG(view, group, add) {
  const style = view.labelStyle();
  const names = add(group, "g", { "font-family": FONT, "font-size": 11.5, "font-weight": 500 });
  const halo = { fill: "none", stroke: view.app.colour("disk"), "stroke-width": 3, "stroke-opacity": 0.87, "stroke-linejoin": "round" };
  for (const { text, x, y } of view.labelled) {
    const place = { x: round(x), y: round(y + TO_BASELINE) };
    add(names, "text", { ...place, ...halo }, text);
    add(names, "text", { ...place, fill: style.ink }, text);
  }
}

function captionSVG(app, caption, group, add) {
  const texts = add(group, "g", { "font-family": FONT, "font-size": CAPTION.size });
  caption.items.forEach((item) => {
    if (item.text !== undefined) {
      add(texts, "text", {
        x: round(item.x), y: round(item.y + TO_BASELINE), fill: app.colour(item.soft ? "soft" : "ink"),
        "font-weight": item.strong ? 600 : 400,
      }, item.text);
    } else if (item.ramp) {
      const step = item.width / item.ramp.length;
      item.ramp.forEach((colour, k) => add(group, "rect", {
        x: round(item.x + k * step), y: round(item.y - 5), width: round(step), height: 10, fill: colour,
      }));
    } else if (item.dashes) {
      add(group, "path", {
        d: `M${round(item.x)} ${round(item.y)}h${item.width}`, fill: "none", stroke: item.colour,
        "stroke-width": 2, "stroke-dasharray": item.dashes.join(" "),
      });
    } else markSVG(group, add, item.x, item.y, 5, item.mark, item.colour, {});
  });
}

function edgePath(view, ax, ay, bx, by) {
  const [px, py] = view.toScreen(ax, ay), [qx, qy] = view.toScreen(bx, by);
  const start = `M${round(px)} ${round(py)}`;
  const { tangent } = view.space.curved ? geodesicArc(ax, ay, bx, by) : { tangent: 0 };
  if (Math.abs(tangent) < 0.01) return `${start}L${round(qx)} ${round(qy)}`;
  const r = (hypot(qx - px, qy - py) / 2) * Math.sqrt(1 + 1 / (tangent * tangent));
  return `${start}A${round(r)} ${round(r)} 0 0 ${tangent < 0 ? 1 : 0} ${round(qx)} ${round(qy)}`;
}

// XML has no way to write most control characters.
function printable(text) {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd");
}

const round = (value) => Math.round(value * 100) / 100;

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function fileName(app, ending) {
  const name = app.scenes.map((scene) => scene.name).join(" and ");
  return `${name.replace(/[^\p{L}\p{N} _.-]+/gu, " ").trim().slice(0, 80) || "disk"}.${ending}`;
}
