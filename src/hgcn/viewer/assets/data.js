// The scenes of the page, decoded from the JSON block, and what is derived from them once.

const ARRAY_TYPES = { "<i4": Int32Array, "<f4": Float32Array, "<f8": Float64Array };

function decode(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new ARRAY_TYPES[packed.type](bytes.buffer);
}

function readScenes() {
  return JSON.parse(document.getElementById("scenes").textContent).map(readScene);
}

function readScene(packed) {
  const size = packed.ids.length;
  const edges = decode(packed.edges);
  const count = edges.length / 2;
  const scene = {
    name: packed.name,
    ids: packed.ids,
    labels: packed.labels ?? packed.ids, // what people read; ids are what two scenes share
    note: packed.note,
    index: new Map(packed.ids.map((id, i) => [id, i])),
    size,
    directed: packed.directed,
    rooted: packed.rooted, // the root is at the origin
    sources: edges.subarray(0, count),
    targets: edges.subarray(count),
    order: shuffled(count),
    metrics: packed.metrics,
    layers: packed.layers.map((layer) => ({
      title: layer.title,
      curvature: layer.curvature,
      points: mirrored(decode(layer.points)),
      lost: layer.lost,
      attention: layer.attention && decode(layer.attention),
      own: layer.own && decode(layer.own),
      measured: layer.measured && readMeasured(layer.measured),
    })),
    columns: new Map(packed.columns.filter((column) => !column.texts)
      .map((column) => [column.name, readColumn(column)])),
    texts: packed.columns.filter((column) => column.texts), // shown and searched, without colours
    missing: packed.missing && readMissing(packed.missing),
  };
  scene.neighbours = neighbourLists(scene);
  scene.degree = new Int32Array(size);
  for (let i = 0; i < size; i++) {
    scene.degree[i] = scene.neighbours.start[i + 1] - scene.neighbours.start[i];
  }
  return scene;
}

// Screens count y downwards. Mirrored once here, nothing else needs to know.
function mirrored(points) {
  for (let i = 1; i < points.length; i += 2) points[i] = -points[i];
  return points;
}

function readMissing(packed) {
  const pairs = decode(packed.pairs);
  const count = pairs.length / 2;
  return {
    count,
    sources: pairs.subarray(0, count),
    targets: pairs.subarray(count),
    probability: decode(packed.probability),
    distance: packed.distance && decode(packed.distance),
  };
}

// What the model itself says of a layer that was projected.
function readMeasured(packed) {
  const nearest = packed.nearest && decode(packed.nearest);
  return {
    radius: decode(packed.radius),
    distance: decode(packed.distance),
    kept: decode(packed.kept),
    nearest,
    nearestDistance: nearest && decode(packed.nearestDistance),
  };
}

function readColumn(packed) {
  if (packed.codes) {
    const codes = decode(packed.codes);
    const counts = new Int32Array(packed.names.length + 1); // the last one: unknown
    for (const code of codes) counts[code < 0 ? packed.names.length : code]++;
    return { name: packed.name, names: packed.names, codes, counts };
  }
  return numberColumn(packed.name, decode(packed.values));
}

function numberColumn(name, values) {
  let low = Infinity, high = -Infinity, whole = true;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
    if (value !== Math.round(value)) whole = false;
  }
  if (low > high) low = high = 0;
  return { name, values, low, high, whole, skewed: isSkewed(values, low, high) };
}

// Columns that differ from layer to layer. A column of the data with such a name wins.
const RADIUS = "distance from the origin", KEPT = "neighbours kept in the drawing";

function setLayerColumns(scene, layer, space) {
  if (scene.columnsOf === layer) return;
  scene.columnsOf = layer;
  const { measured } = layer;
  const put = (name, values) => {
    const old = scene.columns.get(name);
    if (!old || old.ofLayer) scene.columns.set(name, { ...numberColumn(name, values), ofLayer: true });
  };
  put(RADIUS, Float32Array.from({ length: scene.size }, (_, i) => modelRadius(layer, space, i)));
  if (measured) put(KEPT, measured.kept);
  else if (scene.columns.get(KEPT)?.ofLayer) scene.columns.delete(KEPT);
}

// The radius in the space of the model; the drawing has it where nothing was projected.
function modelRadius(layer, space, node) {
  return layer.measured ? layer.measured.radius[node] : space.radius(node);
}

// Degrees and the like span decades: then colours follow the logarithm.
function isSkewed(values, low, high) {
  if (low < 0 || high < 20) return false;
  const sorted = Float32Array.from(values.filter(Number.isFinite)).sort();
  return sorted[Math.floor(sorted.length * 0.9)] < high / 4;
}

function columnText(column, node) {
  if (column.codes) return column.codes[node] < 0 ? "unknown" : column.names[column.codes[node]];
  return Number.isFinite(column.values[node]) ? formatNumber(column.values[node]) : "unknown";
}

function formatNumber(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

// A share as per cent, with three digits however small it is.
function formatShare(share) {
  if (Number.isNaN(share)) return "–";
  if (share === 0 || share === 1) return `${100 * share} %`;
  return `${Number((100 * share).toPrecision(3))} %`;
}

// Edges in a fixed random order: the first k of them are a fair sample of the picture.
function shuffled(count) {
  const order = new Int32Array(count);
  let state = 12345;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 4294967296) * (i + 1));
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

// For node i the entries start[i] .. start[i + 1]: the other end and the number of the edge.
function neighbourLists(scene) {
  const { size, sources, targets } = scene;
  const start = new Int32Array(size + 1);
  for (let e = 0; e < sources.length; e++) {
    start[sources[e] + 1]++;
    start[targets[e] + 1]++;
  }
  for (let i = 0; i < size; i++) start[i + 1] += start[i];
  const next = start.slice(0, size);
  const node = new Int32Array(2 * sources.length), edge = new Int32Array(2 * sources.length);
  for (let e = 0; e < sources.length; e++) {
    node[next[sources[e]]] = targets[e];
    edge[next[sources[e]]++] = e;
    node[next[targets[e]]] = sources[e];
    edge[next[targets[e]]++] = e;
  }
  return { start, node, edge };
}

// Nodes within some hops of a node, as a mask.
function neighbourhood(scene, node, hops) {
  const mask = new Uint8Array(scene.size);
  const { start, node: other } = scene.neighbours;
  let front = [node];
  mask[node] = 1;
  for (let hop = 0; hop < hops; hop++) {
    const next = [];
    for (const i of front) {
      for (let k = start[i]; k < start[i + 1]; k++) {
        if (!mask[other[k]]) {
          mask[other[k]] = 1;
          next.push(other[k]);
        }
      }
    }
    front = next;
  }
  return mask;
}

function edgesWithin(scene, mask) {
  let count = 0;
  for (let e = 0; e < scene.sources.length; e++) count += mask[scene.sources[e]] & mask[scene.targets[e]];
  return count;
}

// Neighbours with distance in this layer and attention both ways, the most attended first.
function describeNeighbours(scene, layer, space, node) {
  const { start, node: other, edge } = scene.neighbours;
  const count = scene.sources.length;
  const rows = [];
  const seen = new Set();
  for (let k = start[node]; k < start[node + 1]; k++) {
    const e = edge[k], j = other[k];
    if (seen.has(j) && !scene.directed) continue;
    seen.add(j);
    const forward = scene.sources[e] === node;
    const share = (row) => (layer.attention ? layer.attention[row * count + e] : NaN);
    rows.push({
      node: j,
      distance: layer.measured ? layer.measured.distance[e] : space.distance(node, j),
      weight: share(forward ? 1 : 0), // of the message that this node receives
      given: share(forward ? 0 : 1),
    });
  }
  const weightOf = (row) => (Number.isNaN(row.weight) ? -1 : row.weight);
  return rows.sort((p, q) => weightOf(q) - weightOf(p) || p.distance - q.distance);
}

// The nearest nodes in the space of the model, nearest first; null where they are not known.
function nearestOf(scene, layer, space, node, most = 10) {
  const { measured } = layer;
  if (measured) {
    if (!measured.nearest) return null;
    const k = measured.nearest.length / scene.size;
    return Array.from({ length: Math.min(k, most) }, (_, r) => ({
      node: measured.nearest[node * k + r], distance: measured.nearestDistance[node * k + r],
    }));
  }
  const found = [];
  for (let j = 0; j < scene.size; j++) {
    if (j === node) continue;
    const distance = space.distance(node, j);
    if (found.length === most && distance >= found[most - 1].distance) continue;
    let at = found.length;
    while (at > 0 && found[at - 1].distance > distance) at--;
    found.splice(at, 0, { node: j, distance });
    if (found.length > most) found.pop();
  }
  return found;
}

// Probable links of a node with their rank among all of them; they come in this order.
function missingOf(scene, node) {
  const rows = [];
  if (!scene.missing) return rows;
  const { sources, targets, probability, distance } = scene.missing;
  for (let e = 0; e < sources.length; e++) {
    if (sources[e] !== node && targets[e] !== node) continue;
    rows.push({
      rank: e + 1, node: sources[e] === node ? targets[e] : sources[e],
      probability: probability[e], distance: distance ? distance[e] : NaN,
    });
  }
  return rows;
}
