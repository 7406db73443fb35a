// One disk: its canvases, what is drawn on them, and how pointer, wheel and keys move it.

const RIM = 0.985; // as far out as a point can be grabbed
const ARC_CLASSES = [1, 4, 12, 32]; // segments of an arc, by how much it bends
const FAINTEST = 0.02; // 5 of 255 levels
const LOG_FRAMES = 240;

class View {
  constructor(app, scene, element) {
    this.app = app;
    this.scene = scene;
    this.element = element;
    this.under = element.querySelector(".under");
    this.over = element.querySelector(".over");
    this.renderer = makeRenderer(element.querySelector(".middle"), app.forcedRenderer);
    this.middle = this.renderer.canvas;
    this.underContext = this.under.getContext("2d", { alpha: false });
    this.labels = new Labels();
    this.shown = new Float64Array(3 * scene.size);
    this.target = new Float64Array(3 * scene.size);
    this.before = null; // positions that a change of layer starts from
    this.drawnSize = new Float32Array(scene.size);
    this.dots = new Batch(3);
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
    this.homeZoom = this.fitting();
    this.zoom = this.homeZoom;
    this.restyle();
    new ResizeObserver(() => this.resize()).observe(element);
    this.resize();
    listen(this);
  }

  get space() {
    this.spaces[this.layer] ??= spaceOf(this.scene.layers[this.layer]);
    return this.spaces[this.layer];
  }

  // Dots grow with the logarithm of the degree, and shrink where there are many.
  sizes() {
    const { degree, size } = this.scene;
    const mean = Math.max(1, (2 * this.scene.sources.length) / size);
    const base = 1.9 + 2.4 / (1 + size / 1500);
    return Float32Array.from(degree, (d) => base * Math.min(3.2, 0.8 + 0.42 * Math.log2(1 + d / mean)));
  }

  // A cloud much smaller than the disk is magnified until it fills it.
  fitting() {
    const space = this.space;
    if (!space.curved) return 1;
    const seen = space.place(this.target);
    const reach = [];
    for (let i = 0; i < seen.length; i += 3) reach.push(hypot(seen[i], seen[i + 1]));
    return Math.max(1, Math.min(200, 0.8 / (quantile(reach, 0.98) || 0.8)));
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
    const column = scene.columns.get(app.column);
    this.colours = nodeColours(scene, column, app.theme);
    this.visible = app.visible(scene, column);
    this.selected = scene.index.get(app.selected) ?? -1;
    this.hovered = scene.index.get(app.hovered) ?? -1;
    this.focus = this.selected < 0 ? null : neighbourhood(scene, this.selected, app.hops);
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
    this.draw(moving || this.dragging);
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

  // While things move, as many edges are drawn as this computer can draw in time.
  adapt(moving, cost) {
    clearTimeout(this.refine);
    if (!moving) return;
    if (cost > 30) this.edgeBudget = Math.max(1000, this.edgeBudget * 0.75);
    else if (cost > 0 && cost < 20) this.edgeBudget = Math.min(2e6, this.edgeBudget * 1.08);
    if (this.edgeBudget < this.scene.sources.length) {
      this.refine = setTimeout(() => {
        this.dragging = false;
        this.request();
      }, 250);
    }
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
      const step = this.glide.left * 0.28;
      this.glide.left -= step;
      this.glideBy(this.glide, step);
      if (Math.abs(this.glide.left) < 0.004) this.glide = null;
      else busy = true;
    }
    return busy;
  }

  glideBy(glide, step) {
    const { space } = this;
    const [x, y] = this.toDisk(glide.x, glide.y);
    if (!space.curved) {
      this.magnify(Math.exp(step * 0.8), x, y);
    } else if (step > 0) {
      const r = hypot(x, y);
      space.approach(x, y, step * Math.min(1, (r * this.zoom) / 0.15));
    } else {
      const [hx, hy, gap] = space.seen(space.home);
      space.approach(hx, hy, Math.min(-step, radiusOf(hx, hy, gap)));
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
    this.fillArcs(moving);
    const frame = this.frameOf(ratio);
    if (!this.renderer.opaque) this.drawUnder(this.underContext, frame, ratio);
    this.renderer.draw(frame);
    this.drawOver(this.over.getContext("2d"), ratio);
  }

  frameOf(ratio) {
    return {
      radius: this.radius * ratio,
      x: this.centreX * ratio,
      y: this.centreY * ratio,
      curved: this.space.curved,
      width: (this.scene.sources.length > 8000 ? 0.9 : 1.15) * ratio,
      halo: packColour(this.app.colour("disk")),
      arcs: this.app.options.edges ? this.arcs : [],
      dots: this.dots,
      backdrop: this.backdrop(ratio),
      rings: this.rings(ratio),
      ringColour: packColour(this.app.colour("grid")),
    };
  }

  // Circles of equal distance from the origin, in device pixels. They crowd at the rim: some are
  // left out. The last one, a dot, is the origin itself.
  rings(ratio) {
    const radius = this.radius * ratio;
    let last = 0;
    const rings = [];
    for (const ring of this.space.rings()) {
      const size = ring.radius * radius;
      if (size - last < 7 * ratio || size > 20000) continue;
      last = size;
      rings.push({
        x: this.centreX * ratio + ring.x * radius, y: this.centreY * ratio + ring.y * radius, size,
      });
    }
    if (this.space.curved) {
      const [x, y, gap] = this.space.seen([0, 0]);
      const [sx, sy] = this.toScreen(x, y);
      if (gap > 0.02) rings.push({ x: sx * ratio, y: sy * ratio, size: 3 * ratio });
    }
    return rings;
  }

  fillDots(ratio) {
    const { shown, dots, drawnSize, visible, focus, colours, width, height } = this;
    const room = Math.max(0.7, Math.min(1.5, Math.sqrt(this.fullRadius / 386)));
    const grow = room * Math.min(2.2, Math.sqrt(this.zoom / this.homeZoom));
    dots.count = 0;
    // With a selection, its nodes are drawn last and so on top.
    for (let pass = focus ? 0 : 1; pass < 2; pass++) {
      for (const i of this.order) {
        if (focus && focus[i] !== pass) continue;
        drawnSize[i] = 0;
        if (!visible[i]) continue;
        const x = shown[3 * i], y = shown[3 * i + 1];
        const px = this.centreX + this.radius * x, py = this.centreY + this.radius * y;
        if (px < -20 || py < -20 || px > width + 20 || py > height + 20) continue;
        const size = this.baseSize[i] * grow * (0.22 + 0.78 * Math.sqrt(shown[3 * i + 2]));
        drawnSize[i] = size;
        const alpha = focus && !focus[i] ? 0.13 : 0.94;
        const o = dots.next();
        dots.floats[o] = x;
        dots.floats[o + 1] = y;
        dots.floats[o + 2] = size * ratio;
        dots.words[o + 3] = withAlpha(colours[i], alpha);
      }
    }
  }

  fillArcs(moving) {
    const { scene, shown, arcs, visible, focus, colours, radius, width, height } = this;
    for (const batch of arcs) batch.count = 0;
    if (!this.app.options.edges) return;
    const { sources, targets, order } = scene;
    const neutral = packColour(this.app.colour("edge"));
    const count = moving ? Math.min(order.length, Math.round(this.edgeBudget)) : order.length;
    const ink = this.inkOf(count);
    const shortest = 1.3 / radius, curved = this.space.curved;
    const left = -this.centreX / radius, right = (width - this.centreX) / radius;
    const top = -this.centreY / radius, bottom = (height - this.centreY) / radius;
    for (let k = 0; k < count; k++) {
      const e = order[k], s = sources[e], t = targets[e];
      if (!visible[s] || !visible[t]) continue;
      const ax = shown[3 * s], ay = shown[3 * s + 1], bx = shown[3 * t], by = shown[3 * t + 1];
      const dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy;
      if (square < shortest * shortest) continue;
      if ((ax < left && bx < left) || (ax > right && bx > right)) continue;
      if ((ay < top && by < top) || (ay > bottom && by > bottom)) continue;
      let segments = 0;
      if (curved) {
        const room = (2 - ax * ax - ay * ay - bx * bx - by * by + square) / 2;
        // How far the arc leaves its chord, in pixels: about |d| tan / 4.
        const bend = (Math.sqrt(square) * Math.abs((ax * dy - ay * dx) / room) * radius) / 4;
        segments = bend < 0.25 ? 0 : bend < 2.5 ? 1 : bend < 22 ? 2 : 3;
      }
      let alpha = Math.min(ink.most, ink.each / Math.sqrt(square));
      // Less ink than a pixel can hold: some edges are left out, and the others keep the sum.
      if (alpha < FAINTEST) {
        if ((k * 0.6180339887) % 1 > alpha / FAINTEST) continue;
        alpha = FAINTEST;
      }
      if (focus) alpha = focus[s] && focus[t] ? Math.max(alpha, 0.5) : alpha * 0.22;
      const colour = colours[s] === colours[t] ? colours[s] : neutral;
      const batch = arcs[segments], o = batch.next();
      batch.floats[o] = ax;
      batch.floats[o + 1] = ay;
      batch.floats[o + 2] = bx;
      batch.floats[o + 3] = by;
      batch.words[o + 4] = withAlpha(colour, alpha);
    }
  }

  drawUnder(context, frame, ratio) {
    context.drawImage(frame.backdrop, 0, 0);
    if (!this.space.curved) return;
    context.save();
    context.beginPath();
    context.arc(frame.x, frame.y, frame.radius, 0, 7);
    context.clip();
    context.lineWidth = ratio;
    context.strokeStyle = this.app.colour("grid");
    for (const { x, y, size } of frame.rings) {
      context.beginPath();
      context.arc(x, y, size, 0, 7);
      context.stroke();
    }
    context.restore();
  }

  // Each edge gets the same amount of ink, so long ones are faint, and all of them together may
  // cover some part of the disk, however many there are. Lengths are taken from a sample.
  inkOf(count) {
    const { shown, scene, app } = this;
    const { sources, targets, order } = scene;
    const most = app.theme === "dark" ? 0.6 : 0.5;
    const some = Math.min(order.length, 1500);
    let total = 0, seen = 0, x = 0, y = 0, square = 0;
    for (let k = 0; k < some; k++) {
      const s = 3 * sources[order[k]], t = 3 * targets[order[k]];
      const length = hypot(shown[s] - shown[t], shown[s + 1] - shown[t + 1]);
      total += length / some;
      x += shown[s] / some;
      y += shown[s + 1] / some;
      square += (shown[s] ** 2 + shown[s + 1] ** 2) / some;
      if (length * this.radius > 1.3) seen++;
    }
    if (!seen) return { most, each: most };
    const drawn = (seen / some) * count;
    // Share of the disk that the nodes lie on. A disk of radius r pixels has room for pi r lines of
    // disk length 1 and width 1.
    const share = Math.max(0.01, Math.min(1, 2 * (square - x * x - y * y)));
    const each = (0.5 * share * Math.PI * this.radius) / drawn;
    return { most, each: Math.max(each, 0.02 * total) };
  }

  // Paper and disk without anything on them, kept as long as size and colours are the same.
  backdrop(ratio) {
    const { app, width, height, centreX: x, centreY: y, radius } = this;
    const key = [width, height, x, y, radius, ratio, app.theme, this.space.curved].join();
    if (this.backdropKey === key) return this.backdropCanvas;
    const canvas = make("canvas", {
      width: Math.round(width * ratio), height: Math.round(height * ratio),
    });
    const context = canvas.getContext("2d", { alpha: false });
    context.scale(ratio, ratio);
    context.fillStyle = app.colour("paper");
    context.fillRect(0, 0, width, height);
    if (this.space.curved) {
      const fill = context.createRadialGradient(x, y, 0, x, y, radius);
      for (const [stop, name] of [[0, "disk"], [0.72, "disk"], [0.95, "rim"], [1, "rim-edge"]]) {
        fill.addColorStop(stop, app.colour(name));
      }
      context.beginPath();
      context.arc(x, y, radius, 0, 7);
      context.fillStyle = fill;
      context.fill();
      context.strokeStyle = app.colour("rim-line");
      context.lineWidth = 1.25;
      context.stroke();
    }
    this.backdropKey = key;
    this.backdropCanvas = canvas;
    return canvas;
  }

  drawOver(context, ratio) {
    const { app } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    if (app.options.missing) this.drawMissing(context);
    if (this.selected >= 0 && this.visible[this.selected]) this.drawStar(context, this.selected);
    if (this.hovered >= 0 && this.hovered !== this.selected && this.visible[this.hovered]) {
      this.drawStar(context, this.hovered);
    }
    context.font = app.font;
    this.labelled = app.options.labels ? this.labels.place(this, context) : [];
    drawLabels(context, this.labelled, this.labelStyle());
    for (const i of [this.selected, this.hovered]) {
      if (i < 0 || !this.visible[i] || !this.drawnSize[i]) continue;
      const [x, y] = this.toScreen(this.shown[3 * i], this.shown[3 * i + 1]);
      context.beginPath();
      context.arc(x, y, this.drawnSize[i] + 3.5, 0, 7);
      context.lineWidth = 2;
      context.strokeStyle = app.colour("accent");
      context.stroke();
    }
  }

  labelStyle() {
    const { app } = this;
    return { font: app.font, ink: app.colour("ink"), halo: app.colour("label-halo") };
  }

  get overFrame() {
    return { x: this.centreX, y: this.centreY, radius: this.radius, curved: this.space.curved };
  }

  // The edges of one node, as wide as its attention to the other end.
  drawStar(context, node) {
    const { scene, shown, visible } = this;
    const { start, node: other, edge } = scene.neighbours;
    const { attention } = scene.layers[this.layer];
    const count = scene.sources.length, degree = start[node + 1] - start[node];
    context.strokeStyle = this.app.colour("accent");
    context.globalAlpha = Math.max(0.25, Math.min(0.85, 6 / Math.sqrt(degree + 1)));
    for (let k = start[node]; k < start[node + 1] && k < start[node] + 3000; k++) {
      const j = other[k], e = edge[k];
      if (!visible[j]) continue;
      const share = attention ? attention[(scene.sources[e] === node ? 1 : 0) * count + e] : NaN;
      context.lineWidth = Number.isNaN(share) ? 1.4 : 0.8 + 3 * share;
      context.beginPath();
      traceEdge(
        context, this.overFrame,
        shown[3 * node], shown[3 * node + 1], shown[3 * j], shown[3 * j + 1],
      );
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  missingShown() {
    const { missing } = this.scene;
    const rows = [];
    if (!missing) return rows;
    for (let e = 0; e < missing.sources.length && rows.length < 2000; e++) {
      const s = missing.sources[e], t = missing.targets[e];
      if (missing.probability[e] < this.app.threshold) continue;
      if (!this.visible[s] || !this.visible[t]) continue;
      if (this.focus && !this.focus[s] && !this.focus[t]) continue;
      rows.push([s, t]);
    }
    return rows;
  }

  drawMissing(context) {
    const { shown } = this;
    context.setLineDash([5, 4]);
    context.lineWidth = 1.4;
    context.strokeStyle = this.app.colour("missing");
    context.beginPath();
    for (const [s, t] of this.missingShown()) {
      traceEdge(
        context, this.overFrame,
        shown[3 * s], shown[3 * s + 1], shown[3 * t], shown[3 * t + 1],
      );
    }
    context.stroke();
    context.setLineDash([]);
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
    // On a plane the point under the pointer stays; on the disk the centre does.
    if (!this.space.curved) this.space.drag(x, y, (x * this.zoom) / zoom, (y * this.zoom) / zoom);
    this.zoom = zoom;
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
