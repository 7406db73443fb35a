// What the disks share, and the start of the page.

const NARROW = "(max-width: 760px)";

class App {
  constructor() {
    this.scenes = readScenes();
    this.options = { edges: true, labels: true, missing: false, nearest: false };
    this.filters = new Map(); // column name -> { hidden: Set of names } or { low, high }
    this.selected = null; // an id, so that two disks can share it
    this.hovered = null;
    this.hops = 1;
    this.ranks = 0; // how many of the probable links are shown, the most probable first
    // "#webgl" or "#raster" after the address chooses how to draw.
    this.forcedRenderer = window.location.hash.slice(1);
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.followSystem();
    fillColumns(this);
    this.font = `500 11.5px ${getComputedStyle(document.body).fontFamily}`;
    this.views = [];
    for (const scene of this.scenes) this.views.push(this.addView(scene));
    this.wire();
    startSearch(this);
    fillFigures(this);
    this.restyle();
  }

  addView(scene) {
    const element = byId("view-template").content.firstElementChild.cloneNode(true);
    const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
    const facts = [`${count(scene.size, "node")}, ${count(scene.sources.length, "edge")}`, scene.note]
      .filter(Boolean).join(". ");
    element.querySelector("h2").textContent = scene.name;
    element.querySelector(".facts").textContent = facts;
    element.querySelector(".over").setAttribute(
      "aria-label", `${scene.name}: ${facts}. Arrow keys move, plus and minus magnify, question mark for help.`,
    );
    byId("stage").append(element);
    const view = new View(this, scene, element);
    startLayers(this, view);
    return view;
  }

  // --- appearance

  followSystem() {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.setTheme(dark.matches ? "dark" : "light");
    dark.addEventListener("change", () => {
      if (!this.chosenTheme) this.setTheme(dark.matches ? "dark" : "light");
    });
  }

  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
    const style = getComputedStyle(document.documentElement);
    this.colours = new Map();
    this.colour = (name) => {
      if (name === "paper" && this.exporting && theme === "light") return "#ffffff"; // as pages are
      if (!this.colours.has(name)) this.colours.set(name, style.getPropertyValue(`--${name}`).trim());
      return this.colours.get(name);
    };
    if (this.views) this.restyle();
  }

  // Room around the disk. The corners of a stage that is far from square are free anyway; on a
  // narrow one, texts are above and below.
  inset(view) {
    if (window.matchMedia(NARROW).matches) {
      const height = (selector) => view.element.querySelector(selector).offsetHeight;
      return { left: 0, right: 0, top: height("header") + 6, bottom: height(".layers") + 8 };
    }
    const tight = Math.max(0, 260 - Math.abs(view.width - view.height)) / 4;
    return { left: 0, right: 0, top: tight, bottom: 1.5 * tight };
  }

  // --- what is seen

  currentColumn() {
    for (const scene of this.scenes) {
      if (scene.columns.has(this.column)) return scene.columns.get(this.column);
    }
    return null;
  }

  visible(scene) {
    const mask = new Uint8Array(scene.size).fill(1);
    for (const [name, filter] of this.filters) {
      const column = scene.columns.get(name);
      if (!column) continue;
      for (let i = 0; i < scene.size; i++) {
        if (filter.hidden) {
          if (filter.hidden.has(columnText(column, i))) mask[i] = 0;
        } else {
          const share = numberShare(column, column.values[i]);
          if (!(share >= filter.low - 1e-6 && share <= filter.high + 1e-6)) mask[i] = 0;
        }
      }
    }
    return mask;
  }

  filter(name, filter) {
    if (filter) this.filters.set(name, filter);
    else this.filters.delete(name);
    this.restyle();
  }

  restyle() {
    for (const view of this.views) view.restyle();
    fillLegend(this);
  }

  redraw() {
    for (const view of this.views) view.request();
  }

  // --- nodes

  select(id) {
    this.selected = id;
    for (const view of this.views) view.restyle();
    fillNode(this);
  }

  visit(id) {
    this.select(id);
    for (const view of this.views) if (view.selected >= 0) view.centreOn(view.selected);
  }

  hover(id, view, event) {
    if (id !== this.hovered) {
      this.hovered = id;
      for (const one of this.views) one.hover(id);
    }
    if (id === null) this.hideTip();
    else showTip(view, view.hovered, event);
  }

  hideTip() {
    byId("tip").hidden = true;
  }

  layerChanged(view) {
    showLayerText(view);
    view.restyle();
    fillLegend(this);
    fillNode(this);
  }

  closeDrawer() {
    byId("panel").classList.remove("open");
    byId("drawer").setAttribute("aria-expanded", "false");
    byId("drawer").textContent = "Controls";
  }

  // --- controls

  wire() {
    for (const name of ["edges", "labels", "missing", "nearest"]) {
      byId(name).addEventListener("change", (event) => {
        this.options[name] = event.target.checked;
        byId("ranks-row").hidden = !this.options.missing;
        for (const view of this.views) view.restyle();
      });
    }
    byId("nearest-row").hidden = !this.scenes.some((scene) => (
      scene.layers.some((layer) => !layer.measured || layer.measured.nearest)));
    byId("hops").addEventListener("input", (event) => {
      this.hops = Number(event.target.value);
      byId("hops-value").textContent = event.target.value;
      for (const view of this.views) view.restyle();
    });
    this.wireRanks();
    this.wireLayout();
    byId("home").addEventListener("click", () => this.views.forEach((view) => view.goHome()));
    byId("png").addEventListener("click", async () => {
      save(await exportPNG(this.views), fileName(this, "png"));
    });
    byId("svg").addEventListener("click", () => {
      save(new Blob([exportSVG(this.views)], { type: "image/svg+xml" }), fileName(this, "svg"));
    });
    byId("theme").addEventListener("click", () => {
      this.chosenTheme = true;
      this.setTheme(this.theme === "dark" ? "light" : "dark");
    });
    byId("help-button").addEventListener("click", () => byId("help").showModal());
    byId("drawer").addEventListener("click", () => {
      const open = byId("panel").classList.toggle("open");
      byId("drawer").setAttribute("aria-expanded", open);
      byId("drawer").textContent = open ? "Close" : "Controls";
    });
    document.addEventListener("keydown", (event) => this.key(event));
  }

  // Probable links are chosen by rank. Probabilities of many are close to one another, or to 1.
  wireRanks() {
    const links = this.scenes.map((scene) => scene.missing).filter((missing) => missing?.count);
    byId("missing-row").hidden = !links.length;
    if (!links.length) return;
    const most = Math.max(...links.map((missing) => missing.count));
    const slider = byId("ranks");
    slider.max = most;
    this.ranks = slider.value = Math.min(100, most);
    const show = () => {
      byId("ranks-value").textContent = String(this.ranks);
      const least = links.map(({ probability, count }) => probability[Math.min(this.ranks, count) - 1]);
      byId("ranks-note").textContent = `probability of ${formatShare(Math.min(...least))} or more`;
    };
    slider.addEventListener("input", () => {
      this.ranks = Number(slider.value);
      show();
      this.redraw();
    });
    show();
  }

  // On a narrow screen the card of a node is a sheet below the disk, which makes room for it.
  wireLayout() {
    const narrow = window.matchMedia(NARROW);
    const place = () => {
      this.narrow = narrow.matches;
      if (this.narrow) document.body.append(byId("node"));
      else byId("colour").after(byId("node"));
    };
    narrow.addEventListener("change", place);
    place();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const typing = event.target.matches("input[type=search], select");
    if (event.key === "Escape") {
      this.select(null);
      this.closeDrawer();
    } else if (typing) return;
    else if (event.key === "?") byId("help").showModal();
    else if (event.key === "/") byId("search").focus();
    else if (event.key === "Home" && !event.target.matches("input")) {
      for (const view of this.views) view.goHome();
    } else if (event.key === "[" || event.key === "]") {
      for (const view of this.views) view.showLayer(view.layer + (event.key === "]" ? 1 : -1));
    } else return;
    event.preventDefault();
  }
}

// For tests and for the curious: what is where, on the first disk or on the one that is named.
function inspect(app) {
  const view = (which = 0) => app.views[which];
  return {
    // Normal coordinates of every node as seen from the centre, in the units of the layer.
    positions(which) {
      const { space, scene } = view(which);
      const seen = space.place(new Float64Array(3 * scene.size));
      return Array.from({ length: scene.size }, (_, i) => {
        const [x, y, gap] = seen.subarray(3 * i, 3 * i + 3);
        if (!space.curved) return [x / space.fit, -y / space.fit];
        const r = hypot(x, y), k = r > 0 ? (space.unit * radiusOf(x, y, gap)) / r : 0;
        return [x * k, -y * k];
      });
    },
    screen(which) {
      const one = view(which), box = one.element.getBoundingClientRect();
      one.place();
      return Array.from({ length: one.scene.size }, (_, i) => {
        const [x, y] = one.toScreen(one.shown[3 * i], one.shown[3 * i + 1]);
        return [x + box.left, y + box.top];
      });
    },
    centre(which) {
      const { space } = view(which);
      if (!space.curved) return [space.centre[0], -space.centre[1]];
      // Where the centre of the disk lies in the space of the data.
      const back = mobius.apply(mobius.inverse(space.map), [0, 0, 1], [0, 0, 0]);
      const r = hypot(back[0], back[1]), k = r > 0 ? radiusOf(...back) / r : 0;
      const [x, y] = walk(space.base, [back[0] * k, back[1] * k]);
      return [x * space.unit, -y * space.unit];
    },
    nodeAt(x, y, which) {
      const box = view(which).element.getBoundingClientRect();
      const node = view(which).nodeAt(x - box.left, y - box.top);
      return node < 0 ? null : view(which).scene.ids[node];
    },
    // The boxes of the names on the screen: left, top, right, bottom.
    names(which) {
      const one = view(which), box = one.element.getBoundingClientRect();
      return one.labelled.map(({ text, x, y }) => {
        const left = box.left + x, top = box.top + y - 7;
        return [left, top, left + one.labels.widths.get(text), top + 14];
      });
    },
    frames: (which) => view(which).frames.slice(), // the last ones: ms to draw, ms since the last
    count: (which) => view(which).frameCount, // of all frames so far
    busy: () => app.views.some((one) => one.journey || one.morph || one.glide || one.pending),
    state(which) {
      const one = view(which);
      return {
        layer: one.layer, zoom: one.zoom, selected: app.selected, hovered: app.hovered,
        column: app.column, theme: app.theme, visible: one.visible.reduce((p, q) => p + q, 0),
        focus: one.focus && one.focus.reduce((p, q) => p + q, 0),
        edges: one.arcs.reduce((sum, batch) => sum + batch.count, 0),
        labels: one.labelled?.map((label) => label.text) ?? [],
        seen: one.anySeen(), nearest: one.nearest.map(({ node }) => one.scene.ids[node]),
        missing: one.missingShown().length,
        renderer: one.renderer.constructor.name, views: app.views.length,
        disk: { x: one.centreX, y: one.centreY, radius: one.radius },
      };
    },
    visit: (id) => app.visit(id),
    png: (scale) => exportPNG(app.views, scale),
    svg: () => exportSVG(app.views),
  };
}

window.hgcn = inspect(new App());
