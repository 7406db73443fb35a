// Everything beside the disks: legend, search, layers. Text of the user only ever enters the page as
// text nodes.

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element && name !== "role") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const byId = (id) => document.getElementById(id);

// --- the legend -----------------------------------------------------------------------------

function fillColumns(app) {
  const names = new Set(app.scenes.flatMap((scene) => [...scene.columns.keys()]));
  const select = byId("column");
  for (const name of [RADIUS, KEPT]) names.add(name);
  const known = (name) => app.scenes.some((scene) => scene.columns.has(name)
    || name === RADIUS || (name === KEPT && scene.layers.some((layer) => layer.measured)));
  for (const name of names) if (known(name)) select.append(make("option", { value: name }, name));
  // A picture without labels shows its depth: of the data, of the graph, or in the space.
  select.value = ["label", "prediction", "depth", "radius", RADIUS].find(known);
  app.column = select.value;
  select.addEventListener("change", () => {
    app.column = select.value;
    app.restyle();
  });
}

function fillLegend(app) {
  const legend = byId("legend");
  legend.replaceChildren();
  const column = app.currentColumn();
  if (column?.codes) legend.append(...categoryKeys(app, column));
  else if (column) legend.append(...numberKeys(app, column));
  const others = [...app.filters.keys()].filter((name) => name !== app.column);
  const note = byId("filtered");
  note.hidden = !app.filters.size;
  note.replaceChildren();
  if (app.filters.size) {
    const clear = make("button", { type: "button", className: "link" }, "Show all");
    clear.addEventListener("click", () => {
      app.filters.clear();
      app.restyle();
    });
    note.append(others.length ? `Also filtered by ${others.join(", ")}. ` : "", clear);
  }
}

function categoryKeys(app, column) {
  const entries = column.names.map((name, code) => [code, name]);
  if (column.counts[column.names.length]) entries.push([-1, "unknown"]);
  const hidden = app.filters.get(column.name)?.hidden ?? new Set();
  return entries.map(([code, name]) => {
    const swatch = markSwatch(categoryMark(code), categoryColour(code, app.theme));
    const count = column.counts[code < 0 ? column.names.length : code];
    const key = make(
      "button", { type: "button", className: "key", title: name, "aria-pressed": !hidden.has(name) },
      swatch, make("span", { className: "name" }, name),
      make("span", { className: "count" }, count.toLocaleString("en")),
    );
    key.addEventListener("click", (event) => {
      const next = new Set(hidden);
      if (event.shiftKey) {
        next.clear();
        for (const [, other] of entries) if (other !== name) next.add(other);
      } else if (!next.delete(name)) next.add(name);
      app.filter(column.name, next.size ? { hidden: next } : null);
      [...byId("legend").children].find((other) => other.title === name)?.focus();
    });
    return key;
  });
}

// A mark of the legend, as it is drawn on the disk.
function markSwatch(mark, colour) {
  const swatch = document.createElementNS(SVG, "svg");
  swatch.setAttribute("class", "swatch");
  swatch.setAttribute("viewBox", "-8 -8 16 16");
  swatch.setAttribute("aria-hidden", "true");
  const corners = markCorners(mark, 5);
  const shape = document.createElementNS(SVG, corners ? "polygon" : "circle");
  if (corners) shape.setAttribute("points", corners.join(" "));
  else shape.setAttribute("r", 5);
  if (isHollow(mark)) {
    shape.setAttribute("fill", "none");
    shape.setAttribute("stroke", colour);
    shape.setAttribute("stroke-width", 2.4);
  } else shape.setAttribute("fill", colour);
  swatch.append(shape);
  return swatch;
}

function numberKeys(app, column) {
  const ramp = make("div", { className: "ramp" });
  ramp.style.background = `linear-gradient(90deg, ${RAMPS[app.theme].join(",")})`;
  const range = app.filters.get(column.name) ?? { low: 0, high: 1 };
  const ends = make("div", { className: "ends" });
  const show = () => {
    const text = (share) => {
      const value = numberAt(column, share);
      return formatNumber(column.whole ? Math.round(value) : value);
    };
    ends.replaceChildren(make("span", {}, text(range.low)), make("span", {}, text(range.high)));
  };
  const slider = (end, label) => {
    const input = make("input", {
      type: "range", min: 0, max: 1, step: 0.005, value: range[end], "aria-label": label,
    });
    input.addEventListener("input", () => {
      range[end] = Number(input.value);
      show();
      app.filters.set(column.name, { ...range });
      if (range.low <= 0 && range.high >= 1) app.filters.delete(column.name);
      for (const view of app.views) view.restyle();
    });
    input.addEventListener("change", () => fillLegend(app));
    return make("label", { className: "slide" }, make("span", {}, label), input);
  };
  show();
  if (column.low === column.high) return [ramp, ends];
  return [ramp, ends, slider("low", "At least"), slider("high", "At most")];
}

// --- search ---------------------------------------------------------------------------------

// A name or another text is found by any part of it; an id beside a name, in full.
function findNodes(scenes, text, most = 8) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const found = [[], [], []]; // equal, beginning so, holding it
  const rankOf = (words) => {
    const at = words.toLowerCase().indexOf(wanted);
    return at < 0 ? 3 : at > 0 ? 2 : words.length === wanted.length ? 0 : 1;
  };
  const seen = new Set();
  for (const scene of scenes) {
    scene.ids.forEach((id, i) => {
      const label = scene.labels[i];
      let rank = rankOf(label), more = id;
      if (rankOf(id) === 0) rank = 0;
      else if (rank === 3) {
        more = scene.texts.map(({ texts }) => texts[i]).find((words) => rankOf(words) < 3);
        if (more !== undefined) rank = rankOf(more) === 0 ? 0 : 2;
      }
      if (rank === 3 || seen.has(id)) return;
      seen.add(id);
      found[rank].push({ id, label: more === label ? label : `${label} (${more})` });
    });
  }
  return found.flat().slice(0, most);
}

function startSearch(app) {
  const input = byId("search"), list = byId("results");
  let found = [], chosen = 0;
  const show = () => {
    list.replaceChildren(...found.map(({ id, label }, k) => {
      const row = make("li", { role: "option", id: `result-${k}`, title: label }, label);
      row.setAttribute("aria-selected", k === chosen);
      row.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        go(id);
      });
      return row;
    }));
    const open = input.value.trim() !== "";
    if (open && !found.length) list.append(make("li", { className: "none" }, "No such node"));
    list.hidden = !open;
    input.setAttribute("aria-expanded", open);
    if (found.length) input.setAttribute("aria-activedescendant", `result-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const go = (id) => {
    input.value = "";
    found = [];
    show();
    app.visit(id);
    app.closeDrawer();
    app.views[0].over.focus({ preventScroll: true }); // so that arrows move the disk
  };
  input.addEventListener("input", () => {
    found = findNodes(app.scenes, input.value);
    chosen = 0;
    show();
  });
  input.addEventListener("blur", () => {
    list.hidden = true;
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) chosen = (chosen + step + found.length) % found.length;
    else if (event.key === "Enter" && found.length) return go(found[chosen].id);
    else if (event.key === "Escape") {
      input.value = "";
      found = [];
      input.blur();
    } else return undefined;
    event.preventDefault();
    event.stopPropagation();
    return show();
  });
}

// --- layers and figures ---------------------------------------------------------------------

function curvatureText(layer) {
  return layer.curvature === null ? "flat" : `curvature ${formatNumber(-layer.curvature).replace("-", "−")}`;
}

function lostText(layer) {
  if (!layer.lost) return "";
  const percent = (share) => `${formatNumber(Number((100 * share).toPrecision(2)))} %`;
  const { error, kept } = layer.lost;
  return `Projected: a typical distance is off by ${percent(error)}, `
    + `${percent(kept)} of the ten nearest neighbours stay among the ten nearest`;
}

function startLayers(app, view) {
  const box = view.element.querySelector(".layers");
  const slider = box.querySelector("input"), play = box.querySelector(".play");
  const last = view.scene.layers.length - 1;
  box.querySelector(".track").hidden = last === 0;
  slider.max = last;
  slider.addEventListener("input", () => view.showLayer(Number(slider.value)));
  play.addEventListener("click", () => {
    clearInterval(view.playing);
    view.showLayer(0);
    view.playing = setInterval(() => {
      if (view.layer === last) clearInterval(view.playing);
      else view.showLayer(view.layer + 1);
    }, 1500);
  });
  showLayerText(view);
}

const SMALL = 5; // magnified so often, a cloud would fill the disk

function showLayerText(view) {
  const layer = view.scene.layers[view.layer];
  const box = view.element.querySelector(".layers");
  box.querySelector("b").textContent = layer.title;
  box.querySelector("span").textContent = curvatureText(layer);
  // A model that has hardly learnt puts all nodes into a point: the page is not at fault.
  const small = view.nearZoom > SMALL ? "All nodes lie close together: the wheel or + magnifies them. " : "";
  box.querySelector(".lost").textContent = small + lostText(layer);
  const slider = box.querySelector("input");
  slider.value = view.layer;
  slider.setAttribute("aria-valuetext", `${layer.title}, ${curvatureText(layer)}`);
}

function fillFigures(app) {
  const names = new Set(app.scenes.flatMap((scene) => scene.metrics.map(([name]) => name)));
  byId("figures").hidden = !names.size;
  const body = make("tbody");
  for (const name of names) {
    const values = app.scenes.map((scene) => new Map(scene.metrics).get(name) ?? "–");
    body.append(make(
      "tr", {}, make("th", { scope: "row" }, name), ...values.map((value) => make("td", {}, value)),
    ));
  }
  const heads = ["", ...app.scenes.map((scene) => scene.name)];
  const table = app.scenes.length > 1 ? tableOf(heads, body) : make("table", {}, body);
  byId("figures").append(table);
}
