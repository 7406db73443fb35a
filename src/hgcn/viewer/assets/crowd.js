// Where many edges are, and where few: a coarse grid over the screen.

const CELLS = 24; // on a side
const REACH = 1.1; // the grid goes from -REACH to REACH, in radii of a disk that is not magnified
const LONELIEST = 40; // times the ink of an edge in the usual crowd

class Crowd {
  constructor(size) {
    this.cells = new Float32Array(CELLS * CELLS);
    this.loneliness = new Float32Array(size).fill(1); // of each node
  }

  // From the ends of some edges: how much more ink an edge may have than one in the usual crowd.
  fill(ends, shown, zoom) {
    const { cells, loneliness } = this;
    this.zoom = zoom;
    cells.fill(0);
    for (const i of ends) {
      const { at, u, v } = cellOf(zoom * shown[3 * i], zoom * shown[3 * i + 1]);
      cells[at] += (1 - u) * (1 - v);
      cells[at + 1] += u * (1 - v);
      cells[at + CELLS] += (1 - u) * v;
      cells[at + CELLS + 1] += u * v;
    }
    let usual = 0;
    for (const i of ends) usual += this.around(shown[3 * i], shown[3 * i + 1]) / ends.length;
    for (let i = 0; i < loneliness.length; i++) {
      const share = usual / (this.around(shown[3 * i], shown[3 * i + 1]) + 0.5);
      loneliness[i] = Math.max(1, Math.min(LONELIEST, share));
    }
  }

  around(x, y) {
    const { cells, zoom } = this, { at, u, v } = cellOf(zoom * x, zoom * y);
    return (1 - v) * ((1 - u) * cells[at] + u * cells[at + 1])
      + v * ((1 - u) * cells[at + CELLS] + u * cells[at + CELLS + 1]);
  }
}

// The first of four cells around a place, and how far it is towards the others: nothing jumps while
// things move.
function cellOf(x, y) {
  const place = (value) => Math.max(0, Math.min(CELLS - 1.001, ((value + REACH) / (2 * REACH)) * (CELLS - 1)));
  const px = place(x), py = place(y), i = Math.floor(px), j = Math.floor(py);
  return { at: CELLS * j + i, u: px - i, v: py - j };
}
