// Pointer, wheel and keys on a disk.

function listen(view) {
  const canvas = view.over;
  const fingers = new Map();
  let moved = 0, pinch = 0;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    try {
      canvas.setPointerCapture(event.pointerId);
    } catch {
      // A pointer that is already gone has nothing to capture.
    }
    fingers.set(event.pointerId, place(event));
    if (fingers.size === 1) moved = 0;
    pinch = spread(fingers);
    view.journey = view.glide = null;
  });

  canvas.addEventListener("pointermove", (event) => {
    const now = place(event), last = fingers.get(event.pointerId);
    if (event.pointerType === "mouse") view.pointer = { at: now, event, stale: false };
    if (!last) {
      if (event.pointerType === "mouse") hover(view, now, event);
      return;
    }
    moved += hypot(now[0] - last[0], now[1] - last[1]);
    const before = middle(fingers);
    fingers.set(event.pointerId, now);
    if (moved < 4) {
      fingers.set(event.pointerId, last);
      return;
    }
    view.dragging = true;
    view.app.hideTip();
    const after = middle(fingers);
    view.attempt(() => dragView(view, before, after));
    if (fingers.size === 2) {
      const wide = spread(fingers);
      if (pinch > 0) view.magnify(wide / pinch, ...view.toDisk(...after));
      pinch = wide;
    }
    view.request();
  });

  const release = (event) => {
    const at = fingers.get(event.pointerId);
    if (!at) return;
    fingers.delete(event.pointerId);
    pinch = spread(fingers);
    if (fingers.size) return;
    view.dragging = false;
    if (event.type === "pointerup" && moved < 4) {
      const node = view.nodeAt(...at, event.pointerType === "mouse" ? 12 : 24);
      view.app.select(node < 0 ? null : view.scene.ids[node]);
      view.app.hideTip();
    }
    view.request();
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", (event) => {
    view.pointer = null;
    if (event.pointerType === "mouse") view.app.hover(null);
  });

  canvas.addEventListener("dblclick", (event) => {
    const node = view.nodeAt(...place(event), 16);
    if (node >= 0) {
      view.app.select(view.scene.ids[node]);
      view.centreOn(node);
    }
  });

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const amount = Math.max(-1, Math.min(1, (-event.deltaY * lines) / 240));
    const [x, y] = place(event);
    view.pointer = { at: [x, y], event, stale: true };
    view.journey = null;
    view.app.hideTip();
    if (event.ctrlKey) {
      view.magnify(Math.exp(amount * 1.2), ...view.toDisk(x, y));
      return;
    }
    const left = view.glide && Math.sign(view.glide.left) === Math.sign(amount) ? view.glide.left : 0;
    view.glide = { x, y, left: Math.max(-3, Math.min(3, left + amount)) };
    view.request();
  }, { passive: false });

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const direction = arrows[event.key];
    if (direction) {
      view.attempt(() => view.space.approach(direction[0], direction[1], 0.25 / Math.max(1, view.zoom)));
    }
    else if (event.key === "+" || event.key === "=") view.magnify(1.25);
    else if (event.key === "-") view.magnify(0.8);
    else if (event.key === "Home") view.goHome();
    else if (event.key === "Enter") selectCentral(view);
    else return;
    event.preventDefault();
    view.request();
  });
}

// Inside, what was grabbed stays under the pointer. Outside the rim, the disk is turned.
function dragView(view, from, to) {
  const p = view.toDisk(...from), q = view.toDisk(...to);
  if (view.space.curved) {
    const rp = hypot(...p), rq = hypot(...q);
    if (rp > 1 && rq > 1) {
      const turn = Math.atan2(p[0] * q[1] - p[1] * q[0], p[0] * q[0] + p[1] * q[1]);
      view.space.rotate(turn / 2);
      return;
    }
    for (const [point, r] of [[p, rp], [q, rq]]) {
      if (r > RIM) {
        point[0] *= RIM / r;
        point[1] *= RIM / r;
      }
    }
  }
  view.space.drag(...p, ...q);
}

function hover(view, at, event) {
  const node = view.nodeAt(...at);
  view.over.style.cursor = node < 0 ? "grab" : "pointer";
  view.app.hover(node < 0 ? null : view.scene.ids[node], view, event);
}

function selectCentral(view) {
  const node = view.nodeAt(view.centreX, view.centreY, view.fullRadius);
  if (node >= 0) view.app.select(view.scene.ids[node]);
}

function middle(fingers) {
  let x = 0, y = 0;
  for (const [fx, fy] of fingers.values()) {
    x += fx / fingers.size;
    y += fy / fingers.size;
  }
  return [x, y];
}

function spread(fingers) {
  if (fingers.size !== 2) return 0;
  const [p, q] = [...fingers.values()];
  return hypot(p[0] - q[0], p[1] - q[1]);
}
