// The picture as a PNG (twice the pixels of the screen) and as an SVG drawing.

const SVG = "http://www.w3.org/2000/svg";

function exportSize(views) {
  const boxes = views.map((view) => view.element.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  const width = Math.max(...boxes.map((box) => box.right)) - left;
  const height = Math.max(...boxes.map((box) => box.bottom)) - top;
  return { width, height, places: boxes.map((box) => [box.left - left, box.top - top]) };
}

function exportPNG(views, scale = 2) {
  const { width, height, places } = exportSize(views);
  const canvas = make("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = canvas.getContext("2d");
  views.forEach((view, k) => {
    const layers = [view.under, view.middle, view.over];
    for (const layer of layers) {
      layer.width = Math.round(view.width * scale);
      layer.height = Math.round(view.height * scale);
    }
    view.draw(false, scale);
    for (const layer of layers) context.drawImage(layer, places[k][0] * scale, places[k][1] * scale);
    view.resize();
    view.draw(false); // at once, or the screen would flash
  });
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function exportSVG(views) {
  const { width, height, places } = exportSize(views);
  const drawing = document.implementation.createDocument(SVG, "svg");
  const root = drawing.documentElement;
  const add = (parent, tag, attributes, text) => {
    const element = drawing.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = printable(text);
    parent.append(element);
    return element;
  };
  root.setAttribute("viewBox", `0 0 ${round(width)} ${round(height)}`);
  root.setAttribute("width", round(width));
  root.setAttribute("height", round(height));
  add(root, "title", {}, views.map((view) => view.scene.name).join(" and "));
  views.forEach((view, k) => {
    view.draw(false);
    const clip = `view-${k}`;
    const bounds = { width: view.width, height: view.height };
    add(add(root, "clipPath", { id: clip }), "rect", bounds);
    const group = add(root, "g", {
      transform: `translate(${round(places[k][0])} ${round(places[k][1])})`,
      "clip-path": `url(#${clip})`,
    });
    drawSVG(view, group, add);
  });
  return new XMLSerializer().serializeToString(drawing);
}

function drawSVG(view, group, add) {
  const { app } = view;
  add(group, "rect", { width: view.width, height: view.height, fill: app.colour("paper") });
  if (view.space.curved) {
    add(group, "circle", {
      cx: round(view.centreX), cy: round(view.centreY), r: round(view.radius),
      fill: app.colour("disk"), stroke: app.colour("rim-line"),
    });
  }
  const edges = add(group, "g", { fill: "none", "stroke-width": 0.9 });
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
  if (app.options.missing) {
    const dashed = add(group, "g", {
      fill: "none", stroke: app.colour("missing"), "stroke-width": 1.4, "stroke-dasharray": "5 4",
    });
    const at = (i) => [view.shown[3 * i], view.shown[3 * i + 1]];
    for (const [s, t] of view.missingShown()) add(dashed, "path", { d: edgePath(view, ...at(s), ...at(t)) });
  }
  const nodes = add(group, "g", { stroke: app.colour("disk"), "stroke-width": 0.6 });
  const { floats, words, count } = view.dots;
  for (let k = 0; k < count; k++) {
    const o = 4 * k;
    const [x, y] = view.toScreen(floats[o], floats[o + 1]);
    add(nodes, "circle", {
      cx: round(x), cy: round(y), r: round(floats[o + 2] / view.ratio), fill: hexColour(words[o + 3]),
      ...(words[o + 3] >>> 24 < 200 ? { opacity: ((words[o + 3] >>> 24) / 255).toFixed(2) } : {}),
    });
  }
  const style = view.labelStyle();
  const names = add(group, "g", {
    "font-family": "Inter, Helvetica, Arial, sans-serif", "font-size": 11.5, fill: style.ink,
    stroke: style.halo, "stroke-width": 3, "paint-order": "stroke", "stroke-linejoin": "round",
    "dominant-baseline": "central",
  });
  for (const { text, x, y } of view.labelled) add(names, "text", { x: round(x), y: round(y) }, text);
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
