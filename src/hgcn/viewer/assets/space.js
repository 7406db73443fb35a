// The space of one layer and where in it the viewer stands. Two kinds, one interface:
//
//   place(out)              x, y, gap of every node on the unit disk, as now seen
//   seen(point)             the same for one point of the data
//   drag(p, q)              move so that what is at p comes to q
//   approach(p, distance)   move towards p (hyperbolic) or away, along the line
//   flight(point, upright)  a function of 0..1 that travels until the point is at the centre
//   state(), restore(state) where the viewer stands, to undo a move
//   distance(i, j), radius(i), home, settle()

class HyperbolicSpace {
  constructor(layer, rooted) {
    this.curved = true;
    this.points = layer.points;
    this.unit = 1 / Math.sqrt(layer.curvature); // length of one curvature radius
    this.home = rooted ? new Float64Array(2) : frechetMean(layer.points);
    this.local = new Float64Array((layer.points.length / 2) * 3);
    this.stand(this.home, mobius.identity());
  }

  // All coordinates are taken as seen from a base near the viewer, computed from the data each
  // time it changes. So nothing is lost far from the origin, and errors never add up.
  stand(base, map) {
    this.base = base;
    this.map = map;
    seenFrom(base, this.points, this.local);
  }

  state() {
    return { base: this.base, map: this.map, last: this.last };
  }

  restore({ base, map, last }) {
    if (base === this.base) this.map = map;
    else this.stand(base, map);
    this.last = last;
  }

  place(out) {
    return mobius.apply(this.map, this.local, out);
  }

  seen(point) {
    return mobius.apply(this.map, seenFromOne(this.base, point), new Float64Array(3));
  }

  drag(px, py, qx, qy) {
    this.move(mobius.carry(px, py, qx, qy));
  }

  approach(x, y, distance) {
    const r = hypot(x, y);
    if (r > 1e-9) this.move(mobius.shift(-x / r, -y / r, distance));
  }

  rotate(halfAngle) {
    this.move(mobius.rotation(halfAngle));
  }

  move(map) {
    const next = mobius.compose(map, this.map);
    // Nobody is helped by losing sight of everything.
    const old = this.map;
    this.map = next;
    if (this.nearest().distance > 5 && this.nearest().distance > this.last) this.map = old;
    this.last = this.nearest().distance;
  }

  // The node nearest to the centre of the disk: the one with the largest gap.
  nearest() {
    if (this.known === this.map) return this.found;
    const { ax, ay, bx, by } = this.map;
    const local = this.local;
    let best = 0, most = -1;
    for (let i = 0; i < local.length; i += 3) {
      const x = local[i], y = local[i + 1];
      const dx = bx * x + by * y + ax, dy = bx * y - by * x - ay;
      const gap = local[i + 2] / (dx * dx + dy * dy);
      if (gap > most) {
        most = gap;
        best = i;
      }
    }
    this.known = this.map;
    this.found = { node: best / 3, distance: 2 * Math.acosh(1 / Math.sqrt(Math.min(1, most))) };
    return this.found;
  }

  // Once the viewer is far from the base, the nearest node becomes the base.
  settle() {
    const { ax, ay } = this.map;
    if (ax * ax + ay * ay < 14) return; // within 4 curvature radii
    const { node } = this.nearest();
    const point = this.points.subarray(2 * node, 2 * node + 2);
    if (point[0] === this.base[0] && point[1] === this.base[1]) return;
    const half = this.turnAt(point);
    const [x, y, gap] = this.seen(point);
    this.stand(point, mobius.compose(mobius.translation(x, y, gap), mobius.rotation(half)));
  }

  // Half the angle by which the frame at a point is turned in the present view.
  turnAt(point) {
    const { ax, ay, bx, by } = this.map;
    const [x, y] = seenFromOne(this.base, point);
    const carried = Math.atan2(ay + by * x - bx * y, ax + bx * x + by * y);
    return carried + turnBetween(this.base, point);
  }

  flight(point, upright = false) {
    const { base, map } = this;
    const [x, y, gap] = this.seen(point);
    const distance = radiusOf(x, y, gap), r = hypot(x, y) || 1;
    const half = this.turnAt(point);
    // Turn back the shorter way. A map and its negative are the same.
    const extra = upright ? Math.atan2(Math.sin(-half), Math.cos(-half)) : 0;
    const turn = extra > Math.PI / 2 ? extra - Math.PI : extra < -Math.PI / 2 ? extra + Math.PI : extra;
    const end = mobius.rotation(half);
    return (t) => {
      const shift = (d) => mobius.shift(x / r, y / r, d);
      // The first half as seen from the start, the second from the goal: both keep all digits.
      if (t < 0.5) {
        if (this.base !== base) this.stand(base, map);
        this.map = mobius.compose(shift(-t * distance), map);
      } else {
        if (this.base !== point) this.stand(point, end);
        this.map = mobius.compose(shift((1 - t) * distance), end);
      }
      this.map = mobius.compose(mobius.rotation(t * turn), this.map);
      this.last = undefined;
    };
  }

  distance(i, j) {
    const p = this.points;
    return this.unit * distanceBetween(p[2 * i], p[2 * i + 1], p[2 * j], p[2 * j + 1]);
  }

  radius(i) {
    return this.unit * hypot(this.points[2 * i], this.points[2 * i + 1]);
  }

  // Circles about the origin, at round distances, as circles of the disk.
  rings() {
    const [x, y, gap] = this.seen([0, 0]);
    const away = radiusOf(x, y, gap), r = hypot(x, y);
    const step = niceStep(this.unit);
    const rings = [];
    for (let k = 1; k <= 40 && (k * step) / this.unit < 60; k++) {
      const rho = (k * step) / this.unit;
      const near = Math.tanh((away - rho) / 2), far = Math.tanh((away + rho) / 2);
      const half = (near + far) / 2;
      const ux = r > 1e-12 ? x / r : 1, uy = r > 1e-12 ? y / r : 0;
      rings.push({ x: half * ux, y: half * uy, radius: (far - near) / 2, distance: k * step });
    }
    return rings;
  }
}

const OUTLYING = 2.2; // times as far as nearly all others

class FlatSpace {
  constructor(layer) {
    this.curved = false;
    this.points = layer.points;
    this.home = meanOf(layer.points);
    this.fit = 0.92 / (flatReach(layer.points, this.home) || 1); // of a unit of the data on the disk
    this.centre = this.home;
  }

  state() {
    return this.centre;
  }

  restore(centre) {
    this.centre = centre;
  }

  place(out) {
    const [cx, cy] = this.centre;
    for (let i = 0, o = 0; i < this.points.length; i += 2, o += 3) {
      out[o] = (this.points[i] - cx) * this.fit;
      out[o + 1] = (this.points[i + 1] - cy) * this.fit;
      out[o + 2] = 1;
    }
    return out;
  }

  seen(point) {
    return [(point[0] - this.centre[0]) * this.fit, (point[1] - this.centre[1]) * this.fit, 1];
  }

  drag(px, py, qx, qy) {
    this.centre = [
      this.centre[0] - (qx - px) / this.fit,
      this.centre[1] - (qy - py) / this.fit,
    ];
  }

  approach(x, y, distance) {
    const r = hypot(x, y);
    if (r > 1e-9) this.drag(0, 0, (-x / r) * distance * 0.4, (-y / r) * distance * 0.4);
  }

  rotate() {}

  settle() {}

  flight(point) {
    const [cx, cy] = this.centre;
    return (t) => {
      this.centre = [cx + (point[0] - cx) * t, cy + (point[1] - cy) * t];
    };
  }

  distance(i, j) {
    const p = this.points;
    return hypot(p[2 * i] - p[2 * j], p[2 * i + 1] - p[2 * j + 1]);
  }

  radius(i) {
    return hypot(this.points[2 * i], this.points[2 * i + 1]);
  }

  rings() {
    return [];
  }
}

function spaceOf(layer, rooted) {
  return layer.curvature === null ? new FlatSpace(layer) : new HyperbolicSpace(layer, rooted);
}

// The point with the least mean squared distance, by gradient descent. The Hessian of half the
// squared distance d is at most d coth d < 1 + d, so a step of 1 / (1 + mean d) cannot overshoot.
function frechetMean(points) {
  const step = 2 * Math.max(1, Math.floor(points.length / 2 / 4000));
  const some = [];
  for (let i = 0; i < points.length; i += step) some.push(points[i], points[i + 1]);
  let mean = new Float64Array(2);
  const seen = new Float64Array((some.length / 2) * 3);
  for (let round = 0; round < 300; round++) {
    seenFrom(mean, some, seen);
    let x = 0, y = 0, total = 0;
    for (let i = 0; i < seen.length; i += 3) {
      const r = hypot(seen[i], seen[i + 1]);
      const distance = r > 0 ? radiusOf(seen[i], seen[i + 1], seen[i + 2]) : 0;
      const k = r > 0 ? distance / r : 0;
      x += k * seen[i];
      y += k * seen[i + 1];
      total += distance;
    }
    const k = 1 / (seen.length / 3 + total);
    mean = walk(mean, [x * k, y * k]);
    if (hypot(x, y) * k < 1e-9) break;
  }
  return mean;
}

function walk(from, step) {
  const [x, y, gap] = seenFromOne([-from[0], -from[1]], step);
  const r = hypot(x, y), k = r > 0 ? radiusOf(x, y, gap) / r : 0;
  return new Float64Array([x * k, y * k]);
}

function meanOf(points) {
  let x = 0, y = 0;
  for (let i = 0; i < points.length; i += 2) {
    x += points[i];
    y += points[i + 1];
  }
  return [(2 * x) / points.length, (2 * y) / points.length];
}

// Half the side of the square around the centre that holds all points of a plane, or nearly all
// where a few are far away.
function flatReach(points, [x, y]) {
  const away = Float64Array.from({ length: points.length / 2 }, (_, i) => (
    Math.max(Math.abs(points[2 * i] - x), Math.abs(points[2 * i + 1] - y))));
  const most = away.reduce((p, q) => Math.max(p, q), 0), usual = quantile(away, 0.99);
  return most < OUTLYING * usual ? most : usual;
}

function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

function niceStep(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  for (const k of [1, 2, 5, 10]) if (k * power >= value * 0.999) return k * power;
  return 10 * power;
}
