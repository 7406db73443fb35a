// One disk: its canvases, where its nodes are, and how it moves.

const RIM = 0.985; // as far out as a point can be grabbed
const ARC_CLASSES = [1, 4, 12, 32]; // segments of an arc, by how much it bends
const LOG_FRAMES = 240;
const FADE = 240; // ms in which the edges left out while moving come back
const MOST_FIT = 200;

class View extends Picture {
  constructor(app, scene, element) {
    super();
    this.app = app;
    this.scene = scene;
    this.element = element;
    this.under = element.querySelector(".under");
    this.over = element.querySelector(".over");
    this.renderer = makeRenderer(element.querySelector(".middle"), app.forcedRenderer);
    this.middle = this.renderer.canvas;
    this.underContext = this.under.getContext("2d", { alpha: false });
    this.labels = new Labels();
    this.crowd = new Crowd(scene.size);
    this.shown = new Float64Array(3 * scene.size);
    this.target = new Float64Array(3 * scene.size);
    this.before = null; // positions that a change of layer starts from
    this.drawnSize = new Float32Array(scene.size);
    this.dots = new Batch(4);
    this.arcs = ARC_CLASSES.map((segments) => new Batch(4, segments));
    this.edgeBudget = this.renderer instanceof RasterRenderer ? 8000 : 60000;
    this.frames = [];
    this.frameCount = 0;
    this.order = Int32Array.from(scene.degree.keys()).sort(
      (p, q) => scene.degree[p] - scene.degree[q] || p - q,
    );
    this.baseSize = this.sizes();
    this.selected = -1;
    this.hovered = -1;
    this.focus = null;
    this.spaces = scene.layers.map(() => null);
    this.layer = scene.layers.length - 1;
    this.kept = new Float64Array(3 * scene.size); // where nodes would be after a move
    this.homeZoom = 1; // the rim is always seen at home
    this.nearZooms = []; // of each layer, found when it is first seen, from home
    this.nearZooms[this.layer] = this.fitting();
    this.zoom = this.homeZoom;
    this.fade = 1;
    this.restyle();
    new ResizeObserver(() => this.resize()).observe(element);
    this.resize();
    listen(this);
  }

  get space() {
    this.spaces[this.layer] ??= spaceOf(this.scene.layers[this.layer], this.scene.rooted);
    return this.spaces[this.layer];
  }

  get nearZoom() {
    return this.nearZooms[this.layer];
  }

  // Dots grow with the logarithm of the degree, and shrink where there are many.
  sizes() {
    const { degree, size } = this.scene;
    const mean = Math.max(1, (2 * this.scene.sources.length) / size);
    const base = 1.9 + 2.4 / (1 + size / 1500);
    return Float32Array.from(degree, (d) => base * Math.min(3.2, 0.8 + 0.42 * Math.log2(1 + d / mean)));
  }

  // The magnification at which a cloud much smaller than the disk fills it.
  fitting() {
    const space = this.space;
    if (!space.curved) return 1;
    const seen = space.place(this.target);
    const reach = [];
    for (let i = 0; i < seen.length; i += 3) reach.push(hypot(seen[i], seen[i + 1]));
    return Math.max(1, Math.min(MOST_FIT, 0.8 / (quantile(reach, 0.98) || 0.8)));
  }

  resize() {
    const box = this.element.getBoundingClientRect();
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    if (box.width < 1 || box.height < 1) return;
    Object.assign(this, { width: box.width, height: box.height, ratio });
    for (const canvas of [this.under, this.middle, this.over]) {
      canvas.width = Math.round(box.width * ratio);
      canvas.height = Math.round(box.height * ratio);
    }
    const inset = this.app.inset(this);
    this.centreX = inset.left + (box.width - inset.left - inset.right) / 2;
    this.centreY = inset.top + (box.height - inset.top - inset.bottom) / 2;
    this.fullRadius = Math.max(60, Math.min(
      box.width - inset.left - inset.right, box.height - inset.top - inset.bottom,
    ) / 2 - 14);
    // In a crowd a few names are enough; nearer by there will be room for more.
    const crowd = this.scene.size > 1500 ? 0.5 : 1;
    this.labelLimit = Math.round(crowd * Math.min(LABEL_LIMIT, 8 + this.fullRadius / 12));
    this.request();
  }

  get radius() {
    return this.fullRadius * this.zoom;
  }

  toScreen(x, y) {
    return [this.centreX + this.radius * x, this.centreY + this.radius * y];
  }

  toDisk(x, y) {
    return [(x - this.centreX) / this.radius, (y - this.centreY) / this.radius];
  }

  // Colours, filters and selection changed: what does not depend on the position is renewed.
  restyle() {
    const { app, scene } = this;
    setLayerColumns(scene, scene.layers[this.layer], this.space);
    const column = scene.columns.get(app.column);
    this.colours = nodeColours(scene, column, app.theme);
    this.marks = nodeMarks(scene, column);
    this.visible = app.visible(scene, column);
    this.selected = scene.index.get(app.selected) ?? -1;
    this.hovered = scene.index.get(app.hovered) ?? -1;
    this.focus = this.selected < 0 ? null : neighbourhood(scene, this.selected, app.hops);
    this.nearest = this.selected < 0 || !app.options.nearest
      ? [] : nearestOf(scene, scene.layers[this.layer], this.space, this.selected) ?? [];
    for (const { node } of this.nearest) this.focus[node] = 1;
    if (this.focus) this.focusInk = 0.5 * Math.sqrt(Math.min(1, MARKED_EDGES / edgesWithin(scene, this.focus)));
    this.request();
  }

  hover(id) {
    this.hovered = this.scene.index.get(id) ?? -1;
    this.request();
  }

  request() {
    if (this.pending) return;
    this.pending = requestAnimationFrame((now) => {
      this.pending = 0;
      this.frame(now);
    });
  }

  frame(now) {
    const started = performance.now();
    const moving = this.advance(now);
    if (moving) this.request();
    const active = moving || this.dragging;
    this.fadeIn(active, now);
    this.draw(active);
    if (!active) this.follow();
    const drawn = performance.now() - started;
    const interval = now - (this.lastFrame ?? now);
    this.lastFrame = now;
    this.frameCount++;
    this.frames.push({ drawn, interval });
    if (this.frames.length > LOG_FRAMES) this.frames.shift();
    // The graphics card works after the frame; our own raster within it.
    const cost = this.renderer instanceof RasterRenderer ? drawn : interval;
    this.adapt(moving || this.dragging, cost);
    if (!moving && !this.dragging) this.lastFrame = undefined;
  }

  // While things move, as many edges are drawn as this computer can draw in time. One movement has
  // one sample: a number that changed from frame to frame would flicker.
  adapt(moving, cost) {
    clearTimeout(this.refine);
    if (!moving) {
      if (this.nextBudget) this.edgeBudget = this.nextBudget;
      this.nextBudget = 0;
      return;
    }
    const budget = this.nextBudget || this.edgeBudget;
    if (cost > 30) this.nextBudget = Math.max(1000, budget * 0.75);
    else if (cost > 0 && cost < 20) this.nextBudget = Math.min(2e6, budget * 1.08);
    if (this.edgeBudget < this.scene.sources.length) {
      this.refine = setTimeout(() => {
        this.dragging = false;
        this.request();
      }, 250);
    }
  }

  // The edges that were left out while moving come back by and by.
  fadeIn(active, now) {
    if (active) {
      this.fade = this.edgeBudget < this.scene.sources.length ? 0 : 1;
      this.stillSince = undefined;
    } else if (this.fade < 1) {
      this.stillSince ??= now;
      this.fade = this.app.calm ? 1 : Math.min(1, (now - this.stillSince) / FADE);
      if (this.fade < 1) this.request();
    }
  }

  // The node under a pointer that rests while the picture moves changes, too.
  follow() {
    const { pointer } = this;
    if (!pointer?.stale) return;
    pointer.stale = false;
    hover(this, pointer.at, pointer.event);
  }

  // A move that would leave no node on the screen is not made.
  attempt(move) {
    const { space, zoom } = this;
    const before = space.state();
    move();
    if (this.pointer) this.pointer.stale = true;
    if (this.anySeen()) return true;
    space.restore(before);
    this.zoom = zoom;
    return false;
  }

  anySeen() {
    const { kept, visible, width, height } = this;
    this.space.place(kept);
    let any = false;
    for (let i = 0; i < visible.length; i++) {
      if (!visible[i]) continue;
      any = true;
      const [x, y] = this.toScreen(kept[3 * i], kept[3 * i + 1]);
      if (x > 4 && y > 4 && x < width - 4 && y < height - 4) return true;
    }
    return !any; // where everything is filtered away, nothing can be lost
  }

  // Carries animations on; true while there is something left to do.
  advance(now) {
    let busy = false;
    for (const name of ["journey", "morph"]) {
      const task = this[name];
      if (!task) continue;
      task.start ??= now;
      const share = task.length > 0 ? Math.min(1, (now - task.start) / task.length) : 1;
      task.run(ease(share));
      if (share === 1) this[name] = null;
      else busy = true;
    }
    if (this.glide) {
      const step = this.glide.left * (this.app.calm ? 1 : 0.28);
      this.glide.left -= step;
      this.glideBy(this.glide, step);
      if (Math.abs(this.glide.left) < 0.004) this.glide = null;
      else busy = true;
    }
    return busy;
  }

  glideBy(glide, step) {
    const { space } = this;
    if (!space.curved) {
      this.magnify(Math.exp(step * 0.8), ...this.toDisk(glide.x, glide.y));
    } else if (step > 0) {
      // To the node nearest to the pointer, and no farther: past the last one there is nothing to see.
      const node = this.nodeAt(glide.x, glide.y, Infinity);
      if (node < 0) return;
      const [x, y, gap] = space.seen(space.points.subarray(2 * node, 2 * node + 2));
      const r = hypot(x, y);
      // A small cloud is magnified, at first on its place; steps are those of the screen, so shorter then.
      const large = Math.min(1, this.zoom / this.nearZoom) ** 2;
      const far = (step / this.zoom) * large * Math.min(1, (r * this.zoom) / 0.15);
      this.attempt(() => {
        space.approach(x, y, Math.min(far, radiusOf(x, y, gap)));
        if (this.zoom < this.nearZoom) this.zoom = Math.min(this.nearZoom, this.zoom * Math.exp(1.2 * step));
      });
    } else {
      const [hx, hy, gap] = space.seen(space.home);
      this.attempt(() => {
        space.approach(hx, hy, Math.min(-step / this.zoom, radiusOf(hx, hy, gap)));
        if (this.zoom > this.homeZoom) this.zoom = Math.max(this.homeZoom, this.zoom * Math.exp(1.2 * step));
      });
    }
  }

  place() {
    this.space.settle();
    this.space.place(this.target);
    const { shown, target, before, mix } = this;
    if (!before) {
      shown.set(target);
      return;
    }
    for (let i = 0; i < shown.length; i += 3) {
      shown[i] = before[i] + (target[i] - before[i]) * mix;
      shown[i + 1] = before[i + 1] + (target[i + 1] - before[i + 1]) * mix;
      shown[i + 2] = before[i + 2] + (target[i + 2] - before[i + 2]) * mix;
    }
  }

  draw(moving, ratio = this.ratio) {
    this.place();
    this.fillDots(ratio);
    this.fillArcs(moving, ratio);
    const frame = this.frameOf(ratio);
    if (!this.renderer.opaque) this.drawUnder(this.underContext, frame, ratio);
    this.renderer.draw(frame);
    this.drawOver(this.over.getContext("2d"), ratio);
  }

  nodeAt(x, y, reach = 12) {
    const [zx, zy] = this.toDisk(x, y);
    const { shown, visible } = this;
    let best = -1, least = (reach / this.radius) ** 2;
    for (let i = 0; i < visible.length; i++) {
      if (!visible[i]) continue;
      const dx = shown[3 * i] - zx, dy = shown[3 * i + 1] - zy;
      const square = dx * dx + dy * dy;
      if (square < least) {
        least = square;
        best = i;
      }
    }
    return best;
  }

  travel(point, upright = false, zoom = this.zoom) {
    const flight = this.space.flight(point, upright);
    const from = this.zoom;
    this.glide = null;
    this.journey = {
      length: this.app.calm ? 0 : 650,
      run: (t) => {
        flight(t);
        this.zoom = from * (zoom / from) ** t;
      },
    };
    this.request();
  }

  centreOn(node) {
    this.travel(this.space.points.slice(2 * node, 2 * node + 2));
  }

  goHome() {
    this.travel(this.space.home, true, this.homeZoom);
  }

  magnify(factor, x = 0, y = 0) {
    const zoom = Math.max(0.5, Math.min(400, this.zoom * factor));
    this.attempt(() => {
      // On a plane the point under the pointer stays; on the disk the centre does.
      if (!this.space.curved) this.space.drag(x, y, (x * this.zoom) / zoom, (y * this.zoom) / zoom);
      this.zoom = zoom;
    });
    this.request();
  }

  // The node nearest to the centre stays where it is; the others move to where this layer has them.
  showLayer(layer) {
    if (layer === this.layer || !this.scene.layers[layer]) return;
    const old = this.space;
    this.before = this.shown.slice();
    this.journey = this.glide = null;
    const away = old.curved && !sameMap(old, old.home);
    this.layer = layer;
    const space = this.space;
    this.nearZooms[layer] ??= this.fitting();
    if (old.curved && space.curved && away) {
      const { node } = old.nearest();
      const was = old.points.subarray(2 * node, 2 * node + 2);
      const [x, y, gap] = old.seen(was);
      const half = old.turnAt(was);
      space.stand(
        space.points.subarray(2 * node, 2 * node + 2),
        mobius.compose(mobius.translation(x, y, gap), mobius.rotation(half)),
      );
    } else {
      space.flight(space.home, true)(1);
      if (old.curved !== space.curved) this.zoom = space.curved ? this.homeZoom : 1;
    }
    // What was nearest to the centre may have been beyond the edge of the screen.
    if (!this.anySeen()) {
      space.flight(space.home, true)(1);
      this.zoom = this.homeZoom;
    }
    this.mix = 0;
    this.morph = {
      length: this.app.calm ? 0 : 900,
      run: (t) => {
        this.mix = t;
        if (t === 1) this.before = null;
      },
    };
    this.app.layerChanged(this);
    this.request();
  }
}

function sameMap(space, point) {
  const [x, y] = space.seen(point);
  return hypot(x, y) < 1e-6;
}

function ease(t) {
  return t < 0.5 ? 4 * t * t * t : 1 - (2 - 2 * t) ** 3 / 2;
}
