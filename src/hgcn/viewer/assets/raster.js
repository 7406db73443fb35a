// Draws the same batches pixel by pixel, for computers without a graphics card.

const FAINT = 30; // of 255 levels

class RasterRenderer {
  constructor(canvas) {
    this.canvas = canvas;
    this.opaque = true; // the disk under the edges is drawn here, too
    this.context = canvas.getContext("2d", { alpha: false });
  }

  draw(frame) {
    this.clear(frame.backdrop);
    for (const ring of frame.rings) this.ring(frame, ring);
    for (const batch of frame.arcs) this.arcs(frame, batch);
    this.dots(frame);
    this.context.putImageData(this.image, 0, 0);
  }

  // Reading a canvas is slow, so the pixels of the backdrop are kept.
  clear(backdrop) {
    if (this.backdrop !== backdrop) {
      const { width, height } = backdrop;
      this.backdrop = backdrop;
      this.image = backdrop.getContext("2d").getImageData(0, 0, width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.blank = this.pixels.slice();
      this.width = width;
      this.height = height;
    }
    this.pixels.set(this.blank);
  }

  ring(frame, { x, y, size }) {
    const steps = Math.min(400, 12 + Math.ceil(size / 2));
    const at = (k) => {
      const angle = (2 * Math.PI * k) / steps;
      return [x + size * Math.cos(angle), y + size * Math.sin(angle)];
    };
    for (let k = 0; k < steps; k++) {
      const p = at(k), q = at(k + 1);
      if (hypot(q[0] - frame.x, q[1] - frame.y) > frame.radius) continue;
      this.line(...p, ...q, frame.ringColour, 255);
    }
  }

  arcs(frame, { floats, words, count, segments }) {
    const { x, y, radius } = frame;
    const strength = Math.min(1.6, frame.width);
    for (let k = 0, o = 0; k < count; k++, o += 5) {
      const ax = floats[o], ay = floats[o + 1], bx = floats[o + 2], by = floats[o + 3];
      const colour = words[o + 4], alpha = Math.min(255, (colour >>> 24) * strength);
      let px = x + radius * ax, py = y + radius * ay;
      if (segments > 1) {
        const arc = geodesicArc(ax, ay, bx, by), w = arc.weight;
        for (let i = 1; i < segments; i++) {
          const t = i / segments, s = 1 - t;
          const p = s * s, q = 2 * s * t * w, r = t * t, scale = radius / (p + q + r);
          const qx = x + scale * (p * ax + q * arc.x + r * bx);
          const qy = y + scale * (p * ay + q * arc.y + r * by);
          this.line(px, py, qx, qy, colour, alpha);
          px = qx;
          py = qy;
        }
      }
      this.line(px, py, x + radius * bx, y + radius * by, colour, alpha);
    }
  }

  // A smooth line one pixel wide: at each step along the longer axis two pixels share the ink.
  line(ax, ay, bx, by, colour, alpha) {
    const { width, height, pixels } = this;
    const whole = Math.round(alpha);
    const steep = Math.abs(by - ay) > Math.abs(bx - ax);
    let from = steep ? ay : ax, to = steep ? by : bx, level = steep ? ax : ay;
    const slope = from === to ? 0 : ((steep ? bx - ax : by - ay)) / (to - from);
    if (to < from) {
      level += slope * (to - from);
      [from, to] = [to, from];
    }
    const along = steep ? height : width, across = steep ? width : height;
    let first = Math.max(0, Math.round(from)), last = Math.min(along - 1, Math.round(to) - 1);
    // The part of the line between the first and the last row but one.
    const enters = (0.01 - level) / slope, leaves = (across - 1.01 - level) / slope;
    if (slope > 1e-6 || slope < -1e-6) {
      first = Math.max(first, Math.ceil(from + Math.min(enters, leaves)));
      last = Math.min(last, Math.floor(from + Math.max(enters, leaves)));
    } else if (level < 0.01 || level > across - 1.01) return;
    const step = steep ? 1 : width, stride = steep ? width : 1;
    // Rows in 1/65536, as whole numbers are faster.
    const rise = Math.round(slope * 65536);
    let row = Math.round((level + slope * (first - from)) * 65536);
    if (whole < FAINT) { // no eye sees the steps of such a line
      row += 32768;
      for (let i = first; i <= last; i++, row += rise) {
        const o = i * stride + (row >> 16) * step;
        pixels[o] = blend(pixels[o], colour, whole);
      }
      return;
    }
    for (let i = first; i <= last; i++, row += rise) {
      const ink = (whole * ((row >> 8) & 255)) >> 8, o = i * stride + (row >> 16) * step;
      pixels[o] = blend(pixels[o], colour, whole - ink);
      if (ink) pixels[o + step] = blend(pixels[o + step], colour, ink);
    }
  }

  dots(frame) {
    const { floats, words, count } = frame.dots;
    const { width, height, pixels } = this;
    const { halo } = frame;
    for (let k = 0, o = 0; k < count; k++, o += 5) {
      const x = frame.x + frame.radius * floats[o] - 0.5;
      const y = frame.y + frame.radius * floats[o + 1] - 0.5;
      const size = Math.max(0.6, floats[o + 2]), mark = floats[o + 3], colour = words[o + 4];
      const alpha = (colour >>> 24) / 255, ringed = size > 2.2 && alpha > 0.5;
      const reach = size + (ringed ? 1.5 : 0.5);
      const box = mark ? 1.6 * reach : reach, hole = isHollow(mark) ? 0.55 * size : 0;
      const top = Math.max(0, Math.ceil(y - box)), bottom = Math.min(height - 1, y + box);
      const left = Math.max(0, Math.ceil(x - box)), right = Math.min(width - 1, x + box);
      for (let row = top; row <= bottom; row++) {
        for (let column = left; column <= right; column++) {
          const dx = column - x, dy = row - y;
          const r = mark ? markReach(mark, dx, dy) : Math.sqrt(dx * dx + dy * dy);
          if (r > reach) continue;
          const i = row * width + column;
          if (ringed && r > size - 0.5) {
            pixels[i] = blend(pixels[i], halo, Math.min(1, size + 1.5 - r) * 230);
          }
          if (r < size + 0.5) {
            pixels[i] = blend(pixels[i], colour, alpha * Math.min(1, size + 0.5 - r) * 256);
          }
          if (r < hole + 0.5) {
            pixels[i] = blend(pixels[i], halo, alpha * Math.min(1, hole + 0.5 - r) * 256);
          }
        }
      }
    }
  }
}

// A pixel with share / 256 of a colour on it. Red and blue are blended in one multiplication.
function blend(pixel, colour, share) {
  const part = share | 0, rest = 256 - part;
  const redBlue =
    Math.imul(pixel & 0xff00ff, rest) + Math.imul(colour & 0xff00ff, part) + 0x800080;
  const green = Math.imul(pixel & 0xff00, rest) + Math.imul(colour & 0xff00, part) + 0x8000;
  return 0xff000000 | ((redBlue >>> 8) & 0xff00ff) | ((green >>> 8) & 0xff00);
}
