// The script of the page without a browser: geometry, colours, numbers and texts.
// Run with: node --test tests/viewer/page.test.mjs

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const assets = new URL("../../src/hgcn/viewer/assets/", import.meta.url);
const files = ["geometry.js", "data.js", "colours.js", "space.js", "crowd.js", "panel.js", "caption.js"];
const names = [
  "distanceBetween", "frechetMean", "mobius", "seenFrom", "HyperbolicSpace", "FlatSpace", "Crowd",
  "formatShare", "formatNumber", "numberColumn", "nearestOf", "neighbourLists", "describeNeighbours",
  "categoryMark", "categoryColour", "markReach", "markCorners", "isHollow", "shuffled", "wrapped", "missingOf", "findNodes",
];
const source = files.map((name) => readFileSync(new URL(name, assets), "utf-8")).join("\n");
const page = new Function(`"use strict"; ${source}; return { ${names.join(", ")} };`)();

// The same random numbers each time.
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

function cloud(count, radius, seed, shift = [0, 0]) {
  const next = random(seed), points = new Float64Array(2 * count);
  for (let i = 0; i < count; i++) {
    const r = radius * Math.sqrt(next()), angle = 2 * Math.PI * next();
    points[2 * i] = shift[0] + r * Math.cos(angle);
    points[2 * i + 1] = shift[1] + r * Math.sin(angle);
  }
  return points;
}

const near = (got, wanted, tolerance = 1e-9) => assert.ok(
  Math.abs(got - wanted) <= tolerance * Math.max(1, Math.abs(wanted)), `${got} is not ${wanted}`,
);

function meanLog(points, at) {
  const seen = page.seenFrom(at, points, new Float64Array((points.length / 2) * 3));
  let x = 0, y = 0;
  for (let i = 0; i < seen.length; i += 3) {
    const r = Math.hypot(seen[i], seen[i + 1]);
    const k = r > 0 ? (2 * Math.atanh(Math.min(r, 1 - 1e-16))) / r : 0;
    x += k * seen[i];
    y += k * seen[i + 1];
  }
  return Math.hypot(x, y) / (points.length / 2);
}

test("the Fréchet mean is where the mean logarithm vanishes, also far out", () => {
  for (const radius of [0.05, 1, 4, 9]) {
    for (const shift of [[0, 0], [2, 1], [-6, 3]]) {
      const points = cloud(300, radius, 7, shift);
      const mean = page.frechetMean(points);
      const start = meanLog(points, [0, 0]);
      assert.ok(meanLog(points, mean) < 1e-5 * Math.max(1, start), `radius ${radius}, shift ${shift}`);
    }
  }
});

test("home is the mean of the nodes, and the origin where a root is there", () => {
  const layer = { points: cloud(500, 0.02, 1, [4, 0]), curvature: 1 };
  const [x, y] = new page.HyperbolicSpace(layer, false).home;
  assert.ok(Math.abs(x - 4) < 0.01 && Math.abs(y) < 0.01);
  assert.deepEqual([...new page.HyperbolicSpace(layer, true).home], [0, 0]);
});

test("a plane at home shows all nodes, but for a few that are far away", () => {
  for (const [far, shown] of [[1.5, 101], [40, 100]]) {
    const points = new Float64Array([...cloud(100, 1, 5), far, 0.2]);
    const seen = new page.FlatSpace({ points, curvature: null }).place(new Float64Array(303));
    let inside = 0, reach = 0;
    for (let i = 0; i < seen.length; i += 3) {
      const most = Math.max(Math.abs(seen[i]), Math.abs(seen[i + 1]));
      if (most < 0.93) inside++;
      if (most < 0.93) reach = Math.max(reach, most);
    }
    assert.ok(inside >= shown - 3 && inside <= shown, `${inside} of ${shown}`);
    assert.ok(reach > 0.8);
  }
});

test("a move and its undoing leave every node where it was", () => {
  const layer = { points: cloud(50, 3, 5), curvature: 1.3 };
  for (const space of [new page.HyperbolicSpace(layer), new page.FlatSpace(layer)]) {
    const before = space.place(new Float64Array(150)).slice();
    const state = space.state();
    space.drag(0.1, 0.2, -0.3, 0.4);
    assert.notDeepEqual([...space.place(new Float64Array(150))], [...before]);
    space.restore(state);
    assert.deepEqual([...space.place(new Float64Array(150))], [...before]);
  }
});

test("dragging keeps distances", () => {
  const points = cloud(20, 4, 3);
  const space = new page.HyperbolicSpace({ points, curvature: 1 });
  space.drag(0.5, 0.1, -0.2, 0.3);
  const seen = space.place(new Float64Array(60));
  const back = (i) => {
    const r = Math.hypot(seen[3 * i], seen[3 * i + 1]);
    const k = (2 * Math.log((1 + r) / Math.sqrt(seen[3 * i + 2]))) / r;
    return [seen[3 * i] * k, seen[3 * i + 1] * k];
  };
  for (let i = 1; i < 20; i++) near(page.distanceBetween(...back(0), ...back(i)), space.distance(0, i), 1e-6);
});

test("the nearest nodes of an exact drawing are those of a sort, and of a projected one the model's", () => {
  const points = cloud(80, 3, 9), size = 80;
  const space = new page.HyperbolicSpace({ points, curvature: 2 });
  const sorted = Array.from({ length: size }, (_, j) => j).filter((j) => j !== 4)
    .sort((p, q) => space.distance(4, p) - space.distance(4, q)).slice(0, 10);
  assert.deepEqual(page.nearestOf({ size }, { measured: null }, space, 4).map((row) => row.node), sorted);
  const measured = { nearest: Int32Array.from({ length: 160 }, (_, i) => i % 80), nearestDistance: new Float32Array(160) };
  assert.deepEqual(page.nearestOf({ size }, { measured }, space, 4).map((row) => row.node), [8, 9]);
  assert.equal(page.nearestOf({ size }, { measured: { nearest: null } }, space, 4), null);
});

test("distances of edges are the model's where the drawing is not exact", () => {
  const scene = {
    size: 3, directed: false, sources: Int32Array.of(0, 0), targets: Int32Array.of(1, 2),
    ids: ["a", "b", "c"],
  };
  scene.neighbours = page.neighbourLists(scene);
  const layer = { attention: Float32Array.of(0.25, 0.5, 0.75, 0.125), measured: { distance: Float32Array.of(7, 5) } };
  const rows = page.describeNeighbours(scene, layer, { distance: () => 1 }, 0);
  assert.deepEqual(rows.map(({ node, distance, weight }) => [node, distance, weight]), [[1, 7, 0.75], [2, 5, 0.125]]);
});

test("more than eight classes have their own pairs of colour and mark", () => {
  const seen = new Set();
  for (let code = 0; code < 64; code++) seen.add(`${page.categoryColour(code, "light")} ${page.categoryMark(code)}`);
  assert.equal(seen.size, 64);
  assert.equal(page.isHollow(page.categoryMark(8)), false);
  assert.equal(page.isHollow(page.categoryMark(32)), true);
});

test("the corners of each mark lie on its rim, and all marks have about the area of the disc", () => {
  for (let mark = 1; mark < 8; mark++) {
    for (const [x, y] of page.markCorners(mark, 5) ?? []) near(page.markReach(mark, x, y), 5, 1e-3);
    let inside = 0;
    for (let x = -12; x < 12; x += 0.1) for (let y = -12; y < 12; y += 0.1) inside += page.markReach(mark, x, y) < 5;
    assert.ok(Math.abs((inside * 0.01) / (Math.PI * 25) - 1) < 0.06, `mark ${mark}`);
  }
});

test("shares have three digits however small they are", () => {
  assert.equal(page.formatShare(0.51234), "51.2 %");
  assert.equal(page.formatShare(0.000012345), "0.00123 %");
  assert.equal(page.formatShare(1), "100 %");
  assert.equal(page.formatShare(NaN), "–");
});

test("a sample of edges is a permutation, so that none is drawn twice", () => {
  assert.deepEqual([...page.shuffled(200)].sort((p, q) => p - q), Array.from({ length: 200 }, (_, i) => i));
});

test("captions are wrapped between words", () => {
  const measure = (text) => text.length;
  assert.deepEqual(page.wrapped("a typical distance is off", 10, measure), ["a typical", "distance", "is off"]);
});

test("nodes are found by name, by id and by any other text, the best match first", () => {
  const scene = {
    ids: ["580", "507", "58"], labels: ["Schiphol", "Heathrow", "Amsterdam"],
    texts: [{ name: "city", texts: ["Amsterdam", "London", ""] }],
  };
  const found = (text) => page.findNodes([scene, scene], text).map(({ label }) => label);
  assert.deepEqual(found("schip"), ["Schiphol (580)"]);
  assert.deepEqual(found("58"), ["Amsterdam (58)"]); // an id is found in full
  assert.deepEqual(found("london"), ["Heathrow (London)"]);
  assert.deepEqual(found("amster"), ["Amsterdam (58)", "Schiphol (Amsterdam)"]);
  assert.deepEqual(found("rome"), []);
});

test("probable links have their rank", () => {
  const missing = {
    sources: Int32Array.of(0, 1, 2), targets: Int32Array.of(1, 2, 0),
    probability: Float32Array.of(0.9, 0.8, 0.5), distance: Float32Array.of(0, 1, 2),
  };
  const rows = page.missingOf({ missing }, 2).map(({ rank, node }) => [rank, node]);
  assert.deepEqual(rows, [[2, 1], [3, 0]]);
});

test("edges in lonely places may have more ink, and those in the crowd no less than usual", () => {
  const crowded = 400, lonely = 3;
  const shown = new Float64Array(3 * (crowded + lonely));
  const points = cloud(crowded, 0.1, 3, [0.7, 0]);
  for (let i = 0; i < crowded; i++) shown.set(points.subarray(2 * i, 2 * i + 2), 3 * i);
  for (let i = crowded; i < crowded + lonely; i++) shown.set([-0.5, 0.1 * (i - crowded)], 3 * i);
  const crowd = new page.Crowd(crowded + lonely);
  crowd.fill(Array.from({ length: crowded + lonely }, (_, i) => i), shown, 1);
  const mean = crowd.loneliness.subarray(0, crowded).reduce((sum, one) => sum + one / crowded, 0);
  assert.ok(mean < 2, `${mean} in the crowd`);
  for (const one of crowd.loneliness.subarray(crowded)) assert.ok(one > 10, `${one} where few are`);
  assert.ok(crowd.loneliness.every((one) => one >= 1));
  // A small move changes it little: nothing flickers.
  const before = crowd.loneliness.slice();
  for (let i = 0; i < shown.length; i += 3) shown[i] += 1e-4;
  crowd.fill(Array.from({ length: crowded + lonely }, (_, i) => i), shown, 1);
  crowd.loneliness.forEach((one, i) => assert.ok(Math.abs(one / before[i] - 1) < 0.02));
});
