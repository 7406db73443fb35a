// Colours and marks of nodes. Both palettes keep their eight colours apart for readers with any of
// the common colour-vision deficiencies (tests/viewer checks it). More than eight categories get the
// same colours with other marks: disc, square, diamond and triangle, full and then hollow.

const PALETTES = {
  light: ["#0071d1", "#d95f02", "#1b9e77", "#c2599a", "#e6a700", "#56b6f1", "#5a4a9b", "#897b48"],
  dark: ["#3d80e4", "#f5793a", "#35ec9a", "#e58bc2", "#f6c445", "#93d5f7", "#9c9dee", "#b9a093"],
};

// Viridis, without the end that would drown in the background.
const RAMPS = {
  light: ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39"],
  dark: ["#4a3f8f", "#3d6a9e", "#2a8f93", "#22a884", "#5ec962", "#addc30", "#fde725"],
};

const UNKNOWN = { light: "#a9a9a4", dark: "#6b727c" };

// Numbers of a canvas pixel: red in the lowest byte, alpha in the highest.
function packColour(hex) {
  const value = parseInt(hex.slice(1), 16);
  return (value >> 16) | (value & 0xff00) | ((value & 0xff) << 16);
}

function withAlpha(colour, alpha) {
  return (colour | (Math.max(0, Math.min(255, Math.round(alpha * 255))) << 24)) >>> 0;
}

function hexColour(colour) {
  const hex = (shift) => ((colour >> shift) & 255).toString(16).padStart(2, "0");
  return `#${hex(0)}${hex(8)}${hex(16)}`;
}

function categoryColour(code, theme) {
  const palette = PALETTES[theme];
  return code < 0 ? UNKNOWN[theme] : palette[code % palette.length];
}

const MARKS = 8;

function categoryMark(code) {
  return code < 0 ? 0 : Math.floor(code / PALETTES.light.length) % MARKS;
}

function isHollow(mark) {
  return mark >= MARKS / 2;
}

// How far out a point lies in a mark, compared with the disc of the same area.
function markReach(mark, dx, dy) {
  const shape = mark % (MARKS / 2);
  if (shape === 0) return Math.sqrt(dx * dx + dy * dy);
  const x = Math.abs(dx);
  if (shape === 1) return 1.13 * Math.max(x, Math.abs(dy));
  if (shape === 2) return 0.8 * (x + Math.abs(dy));
  return 1.28 * Math.max(dy, 0.866 * x - 0.5 * dy);
}

// The corners of a mark of some size about the origin; null for a disc.
function markCorners(mark, size) {
  const shape = mark % (MARKS / 2);
  if (shape === 0) return null;
  const a = size / (shape === 1 ? 1.13 : shape === 2 ? 0.8 : 1.28);
  if (shape === 1) return [[-a, -a], [a, -a], [a, a], [-a, a]];
  if (shape === 2) return [[0, -a], [a, 0], [0, a], [-a, 0]];
  return [[0, -2 * a], [1.732 * a, a], [-1.732 * a, a]];
}

function nodeMarks(scene, column) {
  const marks = new Uint8Array(scene.size);
  if (column?.codes) column.codes.forEach((code, i) => (marks[i] = categoryMark(code)));
  return marks;
}

function rampColour(share, theme) {
  const ramp = RAMPS[theme];
  const place = Math.max(0, Math.min(1, share)) * (ramp.length - 1);
  const k = Math.min(ramp.length - 2, Math.floor(place)), rest = place - k;
  const p = packColour(ramp[k]), q = packColour(ramp[k + 1]);
  const mix = (shift) => {
    const from = (p >> shift) & 255, to = (q >> shift) & 255;
    return Math.round(from + (to - from) * rest) << shift;
  };
  return mix(0) | mix(8) | mix(16);
}

// Where a number lies between the least and the greatest, 0 to 1.
function numberShare(column, value) {
  const scale = column.skewed ? Math.log1p : (x) => x;
  const low = scale(column.low), high = scale(column.high);
  return high > low ? (scale(value) - low) / (high - low) : 0.5;
}

function numberAt(column, share) {
  const scale = column.skewed ? Math.log1p : (x) => x;
  const back = column.skewed ? Math.expm1 : (x) => x;
  const low = scale(column.low), high = scale(column.high);
  return back(low + share * (high - low));
}

function nodeColours(scene, column, theme) {
  const colours = new Uint32Array(scene.size);
  const unknown = packColour(UNKNOWN[theme]);
  if (!column) return colours.fill(packColour(PALETTES[theme][0]));
  if (column.codes) {
    const known = column.names.map((_, code) => packColour(categoryColour(code, theme)));
    return colours.map((_, i) => (column.codes[i] < 0 ? unknown : known[column.codes[i]]));
  }
  return colours.map((_, i) => {
    const value = column.values[i];
    return Number.isFinite(value) ? rampColour(numberShare(column, value), theme) : unknown;
  });
}
