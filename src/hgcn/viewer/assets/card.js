// The card of a node, in the panel and beside the pointer: what the model says of it.

const FEW_ROWS = 10; // of the edges of a node at first
const MOST_ROWS = 1000;

function nodeCard(view, node, { rows, links }) {
  const { scene, space } = view;
  const layer = scene.layers[view.layer];
  const card = document.createDocumentFragment();
  card.append(make("h4", {}, scene.labels[node]), nodeFacts(view, node));

  const name = (other) => {
    const id = scene.ids[other], label = scene.labels[other];
    if (!links) return make("td", { title: label }, label);
    const link = make("button", { type: "button", className: "link", title: label }, label);
    link.addEventListener("click", () => view.app.visit(id));
    return make("td", {}, link);
  };
  const table = (heads, entries) => {
    if (!entries.length) return;
    const body = make("tbody");
    const fill = (from, to) => entries.slice(from, to).forEach((cells) => body.append(
      make("tr", {}, ...cells.map((cell) => (cell instanceof Node ? cell : make("td", {}, cell)))),
    ));
    fill(0, rows);
    card.append(tableOf(heads, body));
    const more = entries.length - rows;
    if (more <= 0) return;
    const text = `and ${more.toLocaleString("en")} more`;
    if (!links) return void card.append(make("p", { className: "note" }, text));
    const open = make("button", { type: "button", className: "link" }, text);
    const note = make("p", { className: "note" }, open);
    open.addEventListener("click", () => {
      fill(rows, MOST_ROWS);
      const left = entries.length - MOST_ROWS;
      note.replaceChildren(left > 0 ? `and ${left.toLocaleString("en")} more` : "");
    });
    card.append(note);
  };
  const share = layer.attention ? (weight) => [formatShare(weight)] : () => [];
  const near = describeNeighbours(scene, layer, space, node).map(({ node: other, distance, weight }) => (
    [name(other), formatNumber(distance), ...share(weight)]
  ));
  // A node hears itself, too; with it the shares add up to one.
  if (layer.own) near.unshift([make("td", {}, "itself"), "0", formatShare(layer.own[node])]);
  table(["edge to", "distance", ...(layer.attention ? ["attention"] : [])], near);
  const nearest = links ? nearestOf(scene, layer, space, node) : [];
  if (nearest === null) {
    card.append(make("p", { className: "note" }, "hgcn neighbours lists the nearest nodes of large graphs."));
  } else table(["nearest in the model", "distance"], nearest.map((row) => [name(row.node), formatNumber(row.distance)]));
  table(["probable link", "distance", "probability"], missingOf(scene, node).map((row) => [
    name(row.node),
    Number.isNaN(row.distance) ? "–" : row.distance < 1e-3 ? "≈ 0" : formatNumber(row.distance),
    formatShare(row.probability),
  ]));
  return card;
}

// Radii are those of the model; that of the drawing is named as such.
function nodeFacts(view, node) {
  const { scene, space } = view;
  const layer = scene.layers[view.layer];
  const facts = make("dl");
  const fact = (name, value, wrong) => facts.append(
    make("dt", {}, name), make("dd", { title: value, className: wrong ? "wrong" : "" }, value),
  );
  if (scene.labels[node] !== scene.ids[node]) fact("id", scene.ids[node]);
  for (const column of scene.columns.values()) {
    if (column.ofLayer) continue; // said below
    const text = columnText(column, node);
    if (text.replaceAll(",", "") === scene.ids[node]) continue; // the id once more
    fact(column.name, text, column.name === "right or wrong" && text === "wrong");
  }
  const known = new Set(["", scene.ids[node], scene.labels[node]]);
  for (const { name, texts } of scene.texts) if (!known.has(texts[node])) fact(name, texts[node]);
  if (!scene.columns.has("degree")) fact("degree", String(scene.degree[node]));
  fact("radius", formatNumber(modelRadius(layer, space, node)));
  if (layer.measured) {
    fact("radius as drawn", formatNumber(space.radius(node)));
    const kept = layer.measured.kept[node];
    if (!Number.isNaN(kept)) fact("neighbours kept", formatShare(kept));
  }
  return facts;
}

function tableOf(heads, body) {
  const row = make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)));
  return make("table", {}, make("thead", {}, row), body);
}

function fillNode(app) {
  const section = byId("node");
  section.replaceChildren();
  section.className = "card";
  const views = app.views.filter((one) => one.selected >= 0);
  if (!views.length) return;
  // Of two disks, both say what they know of the node.
  for (const view of views) {
    if (app.views.length > 1) section.append(make("p", { className: "whose" }, view.scene.name));
    section.append(nodeCard(view, view.selected, { rows: FEW_ROWS, links: true }));
  }
  const centre = make("button", { type: "button" }, "Centre");
  const clear = make("button", { type: "button" }, "Clear");
  centre.addEventListener("click", () => app.visit(app.selected));
  clear.addEventListener("click", () => app.select(null));
  section.querySelector("dl").after(make("div", { className: "actions" }, centre, clear));
}

function showTip(view, node, event) {
  const tip = byId("tip");
  tip.className = "card";
  tip.replaceChildren(nodeCard(view, node, { rows: 5, links: false }));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const flip = event.clientX + 18 + box.width > window.innerWidth - 8;
  const x = flip ? event.clientX - 18 - box.width : event.clientX + 18;
  const y = Math.min(event.clientY + 14, window.innerHeight - box.height - 8);
  tip.style.transform = `translate(${Math.max(8, Math.round(x))}px, ${Math.max(8, Math.round(y))}px)`;
}
