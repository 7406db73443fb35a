// Hyperbolic geometry of curvature -1 in two dimensions.
//
// A point of the data is its logarithm at the origin, (x, y), as in the Python library. A point
// that is drawn is three numbers as seen from a base point: z = (x, y) on the unit disk and
// gap = 1 - |z|². The gap is kept apart because z alone rounds to the rim at radius 37, while the
// gap of a point at radius 40 is a perfectly good number, 1.7e-17.
//
// An isometry is a Möbius map z -> (a z + b) / (conj(b) z + conj(a)), held as {ax, ay, bx, by} with
// |a|² - |b|² = 1. Whatever rounding does to the four numbers, the map stays an isometry.

const hypot = Math.hypot;

// a b - c d without the rounding error of the products (Dekker and Veltkamp): the angle between
// two far and near points is a small difference of large products.
function productDifference(a, b, c, d) {
  const p = a * b, q = c * d;
  return p - q + (productError(a, b, p) - productError(c, d, q));
}

function productError(a, b, product) {
  const as = 134217729 * a, bs = 134217729 * b; // 2^27 + 1 splits a number into two halves
  const ah = as - (as - a), bh = bs - (bs - b), al = a - ah, bl = b - bh;
  return al * bl - (product - ah * bh - al * bh - ah * bl);
}

// Sine and 1 - cosine of the angle from p to q, to the last digit that the coordinates hold.
function angleBetween(px, py, rp, qx, qy, rq) {
  const sine = productDifference(px, qy - py, py, qx - px) / (rp * rq);
  const cosine = (px * qx + py * qy) / (rp * rq);
  const versine = cosine > 0 ? (sine * sine) / (1 + cosine) : 1 - cosine;
  return [sine, versine];
}

// Writes the points as seen from the base into out: x, y, gap for each.
function seenFrom(base, points, out) {
  const bx = base[0], by = base[1];
  const rb = hypot(bx, by), cb = Math.cosh(rb);
  for (let i = 0, o = 0; i < points.length; i += 2, o += 3) {
    const x = points[i], y = points[i + 1], r = hypot(x, y);
    let u, v, h; // hyperboloid coordinates u, v of the point, and their length
    if (rb < 1e-150 || r < 1e-150) {
      const rho = r + rb, sign = r < 1e-150 ? -1 : 1;
      h = Math.sinh(rho);
      const k = rho > 0 ? (sign * h) / rho : 0;
      u = k * (sign < 0 ? bx : x);
      v = k * (sign < 0 ? by : y);
    } else {
      const sine = productDifference(bx, y - by, by, x - bx) / (rb * r);
      const cosine = (bx * x + by * y) / (rb * r);
      const versine = cosine > 0 ? (sine * sine) / (1 + cosine) : 1 - cosine;
      const sr = Math.sinh(r);
      const along = Math.sinh(r - rb) - cb * sr * versine;
      const across = sr * sine;
      u = (along * bx - across * by) / rb;
      v = (along * by + across * bx) / rb;
      h = hypot(u, v);
    }
    const k = 1 / (1 + Math.sqrt(1 + h * h));
    out[o] = u * k;
    out[o + 1] = v * k;
    out[o + 2] = 2 * k;
  }
  return out;
}

function seenFromOne(base, point) {
  return seenFrom(base, point, new Float64Array(3));
}

function distanceBetween(px, py, qx, qy) {
  const rp = hypot(px, py), rq = hypot(qx, qy);
  if (rp < 1e-150 || rq < 1e-150) return rp + rq;
  const [, versine] = angleBetween(px, py, rp, qx, qy, rq);
  const half = Math.sinh((rp - rq) / 2);
  return 2 * Math.asinh(Math.sqrt(half * half + (Math.sinh(rp) * Math.sinh(rq) * versine) / 2));
}

// Distance from the centre of the disk, from z and its gap.
function radiusOf(x, y, gap) {
  const z = hypot(x, y);
  return z < 0.5 ? 2 * Math.atanh(z) : 2 * Math.log((1 + z) / Math.sqrt(gap));
}

// Half the angle by which the view turns when it is carried from base p to base q: the argument of
// 1 - p conj(q) for the two points on the disk, from quantities that do not cancel near the rim.
function turnBetween(p, q) {
  const rp = hypot(p[0], p[1]), rq = hypot(q[0], q[1]);
  if (rp < 1e-150 || rq < 1e-150) return 0;
  const [sine, versine] = angleBetween(p[0], p[1], rp, q[0], q[1], rq);
  const product = Math.tanh(rp / 2) * Math.tanh(rq / 2);
  const rest = Math.cosh((rp - rq) / 2) / (Math.cosh(rp / 2) * Math.cosh(rq / 2));
  return Math.atan2(product * sine, rest + product * versine);
}

const mobius = {
  identity: () => ({ ax: 1, ay: 0, bx: 0, by: 0 }),

  // Carries the centre of the disk to z, given with its gap or not.
  translation(x, y, gap = 1 - x * x - y * y) {
    const k = 1 / Math.sqrt(gap);
    return { ax: k, ay: 0, bx: x * k, by: y * k };
  },

  // Carries the centre by a distance in a direction (a unit vector).
  shift(ux, uy, distance) {
    const s = Math.sinh(distance / 2);
    return { ax: Math.cosh(distance / 2), ay: 0, bx: s * ux, by: s * uy };
  },

  rotation(halfAngle) {
    return { ax: Math.cos(halfAngle), ay: Math.sin(halfAngle), bx: 0, by: 0 };
  },

  // m after n.
  compose(m, n) {
    const ax = m.ax * n.ax - m.ay * n.ay + m.bx * n.bx + m.by * n.by;
    const ay = m.ax * n.ay + m.ay * n.ax + m.by * n.bx - m.bx * n.by;
    const bx = m.ax * n.bx - m.ay * n.by + m.bx * n.ax + m.by * n.ay;
    const by = m.ax * n.by + m.ay * n.bx + m.by * n.ax - m.bx * n.ay;
    // Far out the difference cancels; there the product of two maps is already scaled well enough.
    const far = ax * ax + ay * ay > 1e6;
    const k = far ? 1 : 1 / Math.sqrt(ax * ax + ay * ay - bx * bx - by * by);
    return { ax: ax * k, ay: ay * k, bx: bx * k, by: by * k };
  },

  inverse: (m) => ({ ax: m.ax, ay: -m.ay, bx: -m.bx, by: -m.by }),

  // Transforms x, y, gap of every point.
  apply(m, points, out) {
    const { ax, ay, bx, by } = m;
    for (let i = 0; i < points.length; i += 3) {
      const x = points[i], y = points[i + 1];
      const nx = ax * x - ay * y + bx, ny = ax * y + ay * x + by;
      const dx = bx * x + by * y + ax, dy = bx * y - by * x - ay;
      const k = 1 / (dx * dx + dy * dy);
      out[i] = (nx * dx + ny * dy) * k;
      out[i + 1] = (ny * dx - nx * dy) * k;
      out[i + 2] = points[i + 2] * k;
    }
    return out;
  },

  // The map that carries p to q along their geodesic and turns nothing on it.
  carry(px, py, qx, qy) {
    const there = mobius.translation(px, py), back = mobius.inverse(there);
    const [x, y] = mobius.apply(back, [qx, qy, 1 - qx * qx - qy * qy], [0, 0, 0]);
    return mobius.compose(there, mobius.compose(mobius.translation(x, y), back));
  },
};

// The geodesic between two points of the disk is a circular arc: a rational quadratic Bézier curve
// with control point (x, y) and weight. Nothing here divides by the distance from a diameter, so
// straight lines are no special case. tangent is that of half the angle of the arc.
function geodesicArc(ax, ay, bx, by) {
  const dx = bx - ax, dy = by - ay, mx = (ax + bx) / 2, my = (ay + by) / 2;
  const square = dx * dx + dy * dy;
  const room = (2 - ax * ax - ay * ay - bx * bx - by * by + square) / 2;
  const cross = ax * dy - ay * dx; // |d| times the distance of the chord from the centre
  const tangent = cross / room;
  const k = cross / (2 * room);
  // The normal of the chord, times |d|, is (dy, -dx); it points away from the centre if cross > 0.
  return { x: mx - k * dy, y: my + k * dx, weight: 1 / Math.sqrt(1 + tangent * tangent), tangent };
}
