// Draws batches of arcs and dots on the graphics card.
//
// A frame is { radius, x, y, curved, width, arcs: [Batch], dots: Batch, halo }: the disk in
// device pixels, and what lies on it in disk coordinates.

// Numbers in a row that grows: each record is some floats and one colour.
class Batch {
  constructor(floats, segments = 0) {
    this.stride = floats + 1;
    this.segments = segments;
    this.grow(1024);
    this.count = 0;
  }

  grow(records) {
    const old = this.floats;
    this.buffer = new ArrayBuffer(records * this.stride * 4);
    this.floats = new Float32Array(this.buffer);
    this.words = new Uint32Array(this.buffer);
    if (old) this.floats.set(old);
    this.room = records;
  }

  // Place of the next record in floats and words.
  next() {
    if (this.count === this.room) this.grow(this.room * 2);
    return this.stride * this.count++;
  }

  filled() {
    return this.floats.subarray(0, this.count * this.stride);
  }
}

const ARC_SHADER = `#version 300 es
uniform vec2 size, centre;
uniform float radius, segments, width, curved;
in vec4 ends, colour;
out vec4 ink;
out float across;
void main() {
  float t = float(gl_VertexID >> 1) / segments, s = 1.0 - t;
  vec2 a = ends.xy, b = ends.zw, d = b - a;
  float room = (2.0 - dot(a, a) - dot(b, b) + dot(d, d)) / 2.0;
  float tangent = curved * (a.x * d.y - a.y * d.x) / max(room, 1e-9);
  vec2 control = (a + b) / 2.0 - 0.5 * tangent * vec2(d.y, -d.x);
  float w = inversesqrt(1.0 + tangent * tangent);
  vec2 above = s * s * a + 2.0 * s * t * w * control + t * t * b;
  float below = s * s + 2.0 * s * t * w + t * t;
  vec2 slope = 2.0 * (s * (w * control - a) + t * (b - w * control)) * below
             - 2.0 * (s * (w - 1.0) + t * (1.0 - w)) * above;
  vec2 along = slope / max(length(slope), 1e-12);
  float half_width = width / 2.0 + 0.75;
  across = (gl_VertexID & 1) == 0 ? half_width : -half_width;
  vec2 pixel = centre + radius * above / below + across * vec2(-along.y, along.x);
  gl_Position = vec4((pixel / size * 2.0 - 1.0) * vec2(1, -1), 0, 1);
  ink = vec4(colour.rgb * colour.a, colour.a);
}`;

const ARC_FILL = `#version 300 es
precision highp float;
uniform float width;
in vec4 ink;
in float across;
out vec4 result;
void main() { result = ink * clamp(width / 2.0 + 0.5 - abs(across), 0.0, 1.0); }`;

const DOT_SHADER = `#version 300 es
uniform vec2 size, centre;
uniform float radius;
in vec4 place;
in vec4 colour;
out vec4 ink;
out float reach;
flat out int mark;
void main() {
  vec2 pixel = centre + radius * place.xy;
  gl_Position = vec4((pixel / size * 2.0 - 1.0) * vec2(1, -1), 0, 1);
  reach = place.z;
  mark = int(place.w);
  gl_PointSize = 3.2 * reach + 4.0;
  ink = colour;
}`;

const DOT_FILL = `#version 300 es
precision highp float;
uniform vec3 halo;
in vec4 ink;
in float reach;
flat in int mark;
out vec4 result;
float markReach(vec2 d) { // as in colours.js
  int shape = mark % 4;
  vec2 a = abs(d);
  if (shape == 0) return length(d);
  if (shape == 1) return 1.13 * max(a.x, a.y);
  if (shape == 2) return 0.8 * (a.x + a.y);
  return 1.28 * max(d.y, 0.866 * a.x - 0.5 * d.y);
}
void main() {
  float r = markReach((gl_PointCoord - 0.5) * (3.2 * reach + 4.0));
  float hole = mark < 4 ? 0.0 : clamp(0.55 * reach + 0.5 - r, 0.0, 1.0);
  float body = clamp(reach + 0.5 - r, 0.0, 1.0);
  float rim = clamp(reach + 1.5 - r, 0.0, 1.0) * step(2.2, reach) * ink.a;
  result = vec4(mix(ink.rgb, halo, hole), 1.0) * ink.a * body
         + vec4(halo, 1.0) * rim * (1.0 - body) * 0.9;
}`;

class GLRenderer {
  constructor(canvas, emulated) {
    this.canvas = canvas;
    // Edges are smoothed in the shaders, which is cheaper than multisampling.
    const gl = canvas.getContext("webgl2", {
      antialias: false, premultipliedAlpha: true, failIfMajorPerformanceCaveat: !emulated,
    });
    if (!gl) throw new Error("no WebGL");
    // An emulated card is far slower than our own loops, so it is only taken on demand.
    const names = gl.getExtension("WEBGL_debug_renderer_info");
    const card = names ? gl.getParameter(names.UNMASKED_RENDERER_WEBGL) : "";
    if (!emulated && /swiftshader|llvmpipe|software|basic render/i.test(card)) {
      throw new Error("an emulated card");
    }
    this.gl = gl;
    this.prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.prepare());
  }

  prepare() {
    const gl = this.gl;
    this.arcs = this.program(ARC_SHADER, ARC_FILL, [["ends", 4], ["colour", 0]], 1);
    this.dots = this.program(DOT_SHADER, DOT_FILL, [["place", 4], ["colour", 0]], 0);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(vertex, fragment, attributes, divisor) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(gl.getProgramInfoLog(program));
    }
    const layout = gl.createVertexArray(), buffer = gl.createBuffer();
    gl.bindVertexArray(layout);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    const floats = attributes[0][1];
    for (const [name, size] of attributes) {
      const place = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(place);
      if (size) gl.vertexAttribPointer(place, size, gl.FLOAT, false, 4 * floats + 4, 0);
      else gl.vertexAttribPointer(place, 4, gl.UNSIGNED_BYTE, true, 4 * floats + 4, 4 * floats);
      gl.vertexAttribDivisor(place, divisor);
    }
    const uniform = (name) => gl.getUniformLocation(program, name);
    return { program, layout, buffer, uniform };
  }

  use({ program, layout, buffer, uniform }, frame, batch) {
    const gl = this.gl;
    gl.useProgram(program);
    gl.bindVertexArray(layout);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, batch.filled(), gl.STREAM_DRAW);
    gl.uniform2f(uniform("size"), this.canvas.width, this.canvas.height);
    gl.uniform2f(uniform("centre"), frame.x, frame.y);
    gl.uniform1f(uniform("radius"), frame.radius);
  }

  draw(frame) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    for (const batch of frame.arcs) {
      if (!batch.count) continue;
      this.use(this.arcs, frame, batch);
      gl.uniform1f(this.arcs.uniform("segments"), batch.segments);
      gl.uniform1f(this.arcs.uniform("width"), frame.width);
      gl.uniform1f(this.arcs.uniform("curved"), frame.curved ? 1 : 0);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 2 * batch.segments + 2, batch.count);
    }
    if (frame.dots.count) {
      this.use(this.dots, frame, frame.dots);
      const { halo } = frame;
      gl.uniform3f(
        this.dots.uniform("halo"), (halo & 255) / 255, ((halo >> 8) & 255) / 255, (halo >> 16) / 255,
      );
      gl.drawArrays(gl.POINTS, 0, frame.dots.count);
    }
  }
}

function makeRenderer(canvas, forced) {
  try {
    if (forced === "raster") throw new Error("not wanted");
    return new GLRenderer(canvas, forced === "webgl");
  } catch {
    // A canvas that once was asked for WebGL may give nothing else.
    const fresh = canvas.cloneNode();
    canvas.replaceWith(fresh);
    return new RasterRenderer(fresh);
  }
}

// Adds the edge between two points of the disk to a canvas path.
function traceEdge(context, frame, ax, ay, bx, by) {
  const { x, y, radius } = frame;
  context.moveTo(x + radius * ax, y + radius * ay);
  const arc = frame.curved ? geodesicArc(ax, ay, bx, by) : null;
  if (!arc || Math.abs(arc.tangent) < 0.01) {
    context.lineTo(x + radius * bx, y + radius * by);
    return;
  }
  const steps = Math.min(40, 6 + Math.ceil(Math.abs(Math.atan(arc.tangent)) * 20));
  const w = arc.weight;
  for (let k = 1; k <= steps; k++) {
    const t = k / steps, s = 1 - t;
    const below = s * s + 2 * s * t * w + t * t;
    context.lineTo(
      x + (radius * (s * s * ax + 2 * s * t * w * arc.x + t * t * bx)) / below,
      y + (radius * (s * s * ay + 2 * s * t * w * arc.y + t * t * by)) / below,
    );
  }
}
