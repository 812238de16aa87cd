// Zoom and pan of an SVG by changing only its view box.
function setBox(view, box) {
  view.box = box;
  view.svg.setAttribute('viewBox', `${box.x} ${box.y} ${box.w} ${box.h}`);
}

function fit(view) { setBox(view, {...view.home}); }

// A `factor` > 1 zooms out. `at` is the fixed point, in drawing units.
function zoom(view, factor, at) {
  const {x, y, w, h} = view.box;
  const width = Math.min(view.home.w * 4, Math.max(80, w * factor)), real = width / w;
  const [cx, cy] = at || [x + w / 2, y + h / 2];
  setBox(view, {x: cx - (cx - x) * real, y: cy - (cy - y) * real, w: width, h: h * real});
}

function centre(view, box) {
  const {w, h} = view.box;
  const scale = Math.min(1, Math.max(box.width * 6, 500) / w);
  setBox(view, {x: box.x - w * scale / 2, y: box.y - h * scale / 2, w: w * scale, h: h * scale});
}

function placeOf(view, event) {
  const matrix = view.svg.getScreenCTM();
  if (!matrix) return null;
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
  return [point.x, point.y];
}

function movable(view, canvas) {
  const {svg} = view;
  fit(view);
  // A tall graph is shown from its top, at a readable size.
  requestAnimationFrame(() => {
    const {clientWidth: width, clientHeight: height} = canvas;
    if (!width || !height || view.svg !== svg) return;
    const shown = Math.max(view.home.w / width, view.home.h / height);
    if (shown > 1.6) {
      const w = Math.min(view.home.w, width * 1.25), h = w * height / width;
      setBox(view, {x: view.start - w / 2, y: view.home.y, w, h});
    }
  });
  svg.addEventListener('wheel', event => {
    event.preventDefault();
    zoom(view, Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), placeOf(view, event));
  }, {passive: false});
  let last = null, moved = false;
  svg.addEventListener('pointerdown', event => { last = placeOf(view, event); moved = false; });
  svg.addEventListener('pointermove', event => {
    if (!last || !(event.buttons & 1)) { last = null; return; }
    const now = placeOf(view, event);
    if (!moved && Math.hypot(now[0] - last[0], now[1] - last[1]) < view.box.w * 0.004) return;
    if (!moved) { moved = true; svg.classList.add('moving'); svg.setPointerCapture(event.pointerId); }
    setBox(view, {...view.box, x: view.box.x - (now[0] - last[0]), y: view.box.y - (now[1] - last[1])});
  });
  for (const end of ['pointerup', 'pointercancel']) svg.addEventListener(end, () => { last = null; svg.classList.remove('moving'); });
}
