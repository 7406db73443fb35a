// How one disk looks: dots, arcs, rings, highlights, from the positions that a View has computed.

const DISK_FILL = [[0, "disk"], [0.72, "disk"], [0.95, "rim"], [1, "rim-edge"]];
const FAINTEST = 0.02; // 5 of 255 levels
const MOST_PIXELS = 8e6; // of lines that are drawn pixel by pixel: a tenth of a second
const COVERED = 0.3; // of the place that dots lie on, at most
const SMALLEST = 0.32; // of the size of a dot, at the rim
const MOST_STAR = 3000; // edges of one node that are drawn
const MARKED_EDGES = 100; // around a selected node; of more, each has less ink

class Picture {
  frameOf(ratio) {
    return {
      radius: this.radius * ratio,
      x: this.centreX * ratio,
      y: this.centreY * ratio,
      curved: this.space.curved,
      width: this.edgeWidth * ratio,
      halo: packColour(this.app.colour("disk")),
      arcs: this.app.options.edges ? this.arcs : [],
      dots: this.dots,
      backdrop: this.backdrop(ratio),
      rings: this.rings(ratio),
      ringColour: packColour(this.app.colour("grid")),
    };
  }

  get edgeWidth() {
    return this.scene.sources.length > 8000 ? 0.9 : 1.15;
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
    const grow = room * Math.min(2.2, Math.sqrt(this.zoom / this.homeZoom)) * this.thinning(room);
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
        const size = this.baseSize[i] * grow * (SMALLEST + (1 - SMALLEST) * Math.sqrt(shown[3 * i + 2]));
        drawnSize[i] = size;
        const alpha = focus && !focus[i] ? 0.13 : 0.94;
        const o = dots.next();
        dots.floats[o] = x;
        dots.floats[o + 1] = y;
        dots.floats[o + 2] = size * ratio;
        dots.floats[o + 3] = this.marks[i];
        dots.words[o + 4] = withAlpha(colours[i], alpha);
      }
    }
  }

  // How much smaller dots are in a crowd, so that they cover no more than a part of their place.
  thinning(room) {
    const { shown, visible, baseSize } = this;
    let area = 0, x = 0, y = 0, square = 0;
    for (let i = 0; i < visible.length; i++) {
      if (!visible[i]) continue;
      const px = shown[3 * i], py = shown[3 * i + 1];
      // A dot counts as much as it covers: what is crammed at the rim leaves the others their size.
      const own = (room * baseSize[i]) ** 2 * shown[3 * i + 2];
      x += px * own;
      y += py * own;
      square += (px * px + py * py) * own;
      area += own;
    }
    if (!area) return 1;
    const share = spreadOf(x / area, y / area, square / area);
    return Math.max(0.4, Math.min(1, Math.sqrt((COVERED * share * this.radius ** 2) / area)));
  }

  fillArcs(moving, ratio) {
    const { scene, shown, arcs, visible, focus, colours, radius, width, height } = this;
    for (const batch of arcs) batch.count = 0;
    if (!this.app.options.edges) return;
    const { sources, targets, order } = scene;
    const neutral = packColour(this.app.colour("edge"));
    const sample = Math.min(order.length, Math.round(this.edgeBudget));
    const count = moving || this.fade === 0 ? sample : order.length;
    // As many edges as now seem to be there share the ink, so that the sum is always the same.
    const ink = this.inkOf(sample + (count - sample) * this.fade);
    const faintest = this.faintest(ink.cover, ratio);
    const { loneliness } = this.crowd;
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
      const lone = Math.min(loneliness[s], loneliness[t]);
      let alpha = Math.min(ink.most, (ink.each * lone) / Math.sqrt(square));
      if (k >= sample) alpha *= this.fade;
      // Less ink than a pixel can hold: some edges are left out, and the others keep the sum.
      if (alpha < faintest) {
        if ((k * 0.6180339887) % 1 > alpha / faintest) continue;
        alpha = faintest;
      }
      if (focus) alpha = focus[s] && focus[t] ? Math.max(alpha, this.focusInk) : alpha * 0.22;
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

  // Each edge gets the same amount of ink, so long ones are faint, and all of them together may cover
  // some part of the disk, however many there are. Where there are few they get more, at the cost of
  // the crowded places. Lengths are taken from a sample.
  inkOf(count) {
    const { shown, scene, app, crowd } = this;
    const { sources, targets, order } = scene;
    const most = app.theme === "dark" ? 0.6 : 0.5;
    const some = Math.min(order.length, 1500);
    const seen = [];
    for (let k = 0; k < some; k++) {
      const s = sources[order[k]], t = targets[order[k]];
      const length = hypot(shown[3 * s] - shown[3 * t], shown[3 * s + 1] - shown[3 * t + 1]);
      if (length * this.radius > 1.3) seen.push(s, t);
    }
    if (!seen.length) return { most, each: most, cover: 0 };
    crowd.fill(seen, shown, this.zoom);
    const { loneliness } = crowd;
    let x = 0, y = 0, square = 0, lone = 0;
    for (let k = 0; k < seen.length; k += 2) {
      const px = shown[3 * seen[k]], py = shown[3 * seen[k] + 1];
      x += px;
      y += py;
      square += px * px + py * py;
      lone += Math.min(loneliness[seen[k]], loneliness[seen[k + 1]]);
    }
    const total = seen.length / 2;
    const drawn = (lone / some) * count;
    // A disk of radius r pixels has room for pi r lines of disk length 1 and width 1.
    const cover = 0.5 * spreadOf(x / total, y / total, square / total);
    return { most, each: (cover * Math.PI * this.radius) / drawn, cover };
  }

  // Where pixels are drawn one by one, fewer lines with more ink are a picture in time; a picture to be
  // saved has time. The pixels of a fine screen are more, and each takes longer: they do not fit into
  // the processor's cache.
  faintest(cover, ratio) {
    if (this.app.exporting || !(this.renderer instanceof RasterRenderer)) return FAINTEST;
    const inked = Math.min(cover * Math.PI * this.radius ** 2, 0.5 * this.width * this.height);
    return Math.max(FAINTEST, Math.min(0.25, (inked * ratio * ratio) / MOST_PIXELS));
  }

  // Paper and disk without anything on them, kept as long as size and colours are the same.
  backdrop(ratio) {
    const { app, width, height, centreX: x, centreY: y, radius } = this;
    const paper = app.colour("paper");
    const key = [width, height, x, y, radius, ratio, app.theme, paper, this.space.curved].join();
    if (this.backdropKey === key) return this.backdropCanvas;
    const canvas = make("canvas", {
      width: Math.round(width * ratio), height: Math.round(height * ratio),
    });
    const context = canvas.getContext("2d", { alpha: false });
    context.scale(ratio, ratio);
    context.fillStyle = paper;
    context.fillRect(0, 0, width, height);
    if (this.space.curved) {
      const fill = context.createRadialGradient(x, y, 0, x, y, radius);
      for (const [stop, name] of DISK_FILL) {
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
    if (this.selected >= 0 && this.visible[this.selected]) this.drawStar(context, this.selected);
    if (this.hovered >= 0 && this.hovered !== this.selected && this.visible[this.hovered]) {
      this.drawStar(context, this.hovered);
    }
    if (app.options.missing) this.drawMissing(context);
    if (this.nearest.length) this.drawNearest(context);
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
    const { scene, visible } = this;
    const { start, node: other, edge } = scene.neighbours;
    const { attention } = scene.layers[this.layer];
    const count = scene.sources.length;
    context.strokeStyle = this.app.colour("accent");
    context.globalAlpha = this.starInk(node);
    for (let k = start[node]; k < start[node + 1] && k < start[node] + MOST_STAR; k++) {
      const j = other[k], e = edge[k];
      if (!visible[j]) continue;
      const share = attention ? attention[(scene.sources[e] === node ? 1 : 0) * count + e] : NaN;
      context.lineWidth = starWidth(share);
      context.beginPath();
      this.trace(context, node, j);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  starInk(node) {
    const { start } = this.scene.neighbours;
    return Math.max(0.2, Math.min(0.85, 5 / Math.sqrt(start[node + 1] - start[node] + 1)));
  }

  missingShown() {
    const { missing } = this.scene;
    const rows = [];
    if (!missing) return rows;
    for (let e = 0; e < Math.min(missing.count, this.app.ranks); e++) {
      const s = missing.sources[e], t = missing.targets[e];
      if (!this.visible[s] || !this.visible[t]) continue;
      if (this.focus && !this.focus[s] && !this.focus[t]) continue;
      rows.push([s, t]);
    }
    return rows;
  }

  drawMissing(context) {
    const { shown } = this;
    context.setLineDash([5, 4]);
    context.lineWidth = 1.6;
    context.strokeStyle = this.app.colour("missing");
    context.beginPath();
    const dots = [];
    for (const [s, t] of this.missingShown()) {
      if (this.coincide(s, t)) dots.push(s);
      this.trace(context, s, t);
    }
    context.stroke();
    context.setLineDash([]);
    // Two nodes at one place leave no room for a line: a ring says that there is a link.
    for (const i of dots) {
      const [x, y] = this.toScreen(shown[3 * i], shown[3 * i + 1]);
      context.beginPath();
      context.arc(x, y, this.drawnSize[i] + 3, 0, 7);
      context.stroke();
    }
  }

  // Whether two nodes lie so near that nothing between them can be seen.
  coincide(i, j) {
    const { shown } = this;
    const gap = hypot(shown[3 * i] - shown[3 * j], shown[3 * i + 1] - shown[3 * j + 1]);
    return gap * this.radius < 6;
  }

  // Lines from the selected node to its nearest in the space of the model.
  drawNearest(context) {
    context.setLineDash([1.5, 3.5]);
    context.lineCap = "round";
    context.lineWidth = 2;
    context.strokeStyle = this.app.colour("nearest");
    context.beginPath();
    for (const { node } of this.nearest) if (this.visible[node]) this.trace(context, this.selected, node);
    context.stroke();
    context.setLineDash([]);
    context.lineCap = "butt";
  }

  trace(context, i, j) {
    const { shown } = this;
    traceEdge(
      context, this.overFrame, shown[3 * i], shown[3 * i + 1], shown[3 * j], shown[3 * j + 1],
    );
  }
}

// Share of the disk that points lie on, from the means of their coordinates and squared lengths.
function spreadOf(x, y, square) {
  return Math.max(1e-7, Math.min(1, 2 * (square - x * x - y * y)));
}

function starWidth(share) {
  return Number.isNaN(share) ? 1.4 : 0.8 + 3 * share;
}
