// Layered layout: every box is below the boxes it reads; boxes of a layer are ordered to reduce edge crossings.
// boxes: {id, width, height, reads: [id]}; sets x, y (centres) and returns the edges with their points and the total size.
const GAP_X = 18, GAP_Y = 40, LONGEST_ROUTED = 8;

function layout(boxes) {
  const byId = new Map(boxes.map(b => [b.id, b]));
  const layers = assignLayers(boxes, byId);
  const edges = [];
  for (const box of boxes)
    for (const read of box.reads) {
      const from = byId.get(read);
      if (from) edges.push({from, to: box, via: [], long: box.layer - from.layer > LONGEST_ROUTED});
    }
  for (const edge of edges) if (!edge.long) addBends(edge, layers);
  order(layers);
  place(layers);
  let width = 0, y = 0, left = Infinity;
  for (const layer of layers) {
    const height = Math.max(8, ...layer.map(b => b.height));
    for (const box of layer) {
      box.y = y + height / 2;
      left = Math.min(left, box.x - box.width / 2);
      width = Math.max(width, box.x + box.width / 2);
    }
    y += height + GAP_Y;
  }
  return {edges, left: Number.isFinite(left) ? left : 0, right: width, height: y};
}

function assignLayers(boxes, byId) {
  const state = new Map();
  const visit = start => {  // iterative, because graphs may be deep
    const stack = [[start, 0]];
    state.set(start.id, 1);
    start.layer = 0;
    while (stack.length) {
      const top = stack[stack.length - 1], [box] = top;
      const read = box.readList[top[1]++];
      if (read === undefined) { state.set(box.id, 2); stack.pop();
        if (stack.length) { const above = stack[stack.length - 1][0]; above.layer = Math.max(above.layer, box.layer + 1); } continue; }
      const next = byId.get(read);
      if (!next || state.get(read) === 1) continue;  // outside, or a cycle
      if (state.get(read) === 2) { box.layer = Math.max(box.layer, next.layer + 1); continue; }
      state.set(read, 1);
      next.layer = 0;
      stack.push([next, 0]);
    }
  };
  for (const box of boxes) { box.readList = [...box.reads]; box.up = []; box.down = []; }
  for (const box of boxes) if (!state.has(box.id)) visit(box);
  sink(boxes, byId);
  const layers = [];
  for (const box of boxes) (layers[box.layer] ||= []).push(box);
  for (let i = 0; i < layers.length; ++i) layers[i] ||= [];
  return layers;
}

// Moves inputs, and chains of single reads that begin at an input (a transposed weight), right above their readers.
function sink(boxes, byId) {
  const byLayer = [...boxes].sort((a, b) => a.layer - b.layer), first = new Map();
  for (const box of byLayer) box.moves = box.readList.length === 0 || (box.readList.length === 1 && (byId.get(box.readList[0])?.moves ?? true));
  for (const box of byLayer.reverse()) {
    if (box.moves && first.has(box.id)) box.layer = Math.max(box.layer, first.get(box.id) - 1);
    for (const read of box.readList) first.set(read, Math.min(first.get(read) ?? Infinity, box.layer));
  }
}

function addBends(edge, layers) {
  let above = edge.from;
  for (let l = edge.from.layer + 1; l < edge.to.layer; ++l) {
    const bend = {bend: true, width: 6, height: 6, layer: l, up: [above], down: []};
    above.down.push(bend);
    layers[l].push(bend);
    edge.via.push(bend);
    above = bend;
  }
  above.down.push(edge.to);
  edge.to.up.push(above);
}

function order(layers) {
  const number = layer => layer.forEach((box, i) => { box.rank = i; });
  layers.forEach(number);
  const sweep = (layer, near) => {
    for (const box of layer) box.weight = box[near].length ? sum(box[near], b => b.rank) / box[near].length : box.rank;
    layer.sort((a, b) => a.weight - b.weight);
    number(layer);
  };
  for (let round = 0; round < 4; ++round) {
    for (let l = 1; l < layers.length; ++l) sweep(layers[l], 'up');
    for (let l = layers.length - 2; l >= 0; --l) sweep(layers[l], 'down');
  }
}

// Moves boxes to the mean of their neighbours, without overlapping the boxes beside them.
function place(layers) {
  for (const layer of layers) {
    let x = 0;
    for (const box of layer) { box.x = x + box.width / 2; x += box.width + GAP_X; }
    for (const box of layer) box.x -= x / 2;
  }
  const settle = (layer, near) => {
    const wanted = layer.map(box => box[near].length ? sum(box[near], b => b.x) / box[near].length : box.x);
    layer.forEach((box, i) => { box.x = wanted[i]; });
    for (let i = 1; i < layer.length; ++i) {
      const least = layer[i - 1].x + (layer[i - 1].width + layer[i].width) / 2 + GAP_X;
      if (layer[i].x < least) layer[i].x = least;
    }
    const shift = layer.length ? sum(layer, b => b.x) / layer.length - sum(wanted) / layer.length : 0;
    for (const box of layer) box.x -= shift;
  };
  for (let round = 0; round < 6; ++round) {
    for (let l = 1; l < layers.length; ++l) settle(layers[l], 'up');
    for (let l = layers.length - 2; l >= 0; --l) settle(layers[l], 'down');
  }
}

function pathOf(edge) {
  const points = [[edge.from.x, edge.from.y + edge.from.height / 2], ...edge.via.map(b => [b.x, b.y]), [edge.to.x, edge.to.y - edge.to.height / 2]];
  let d = `M${points[0][0].toFixed(1)},${points[0][1].toFixed(1)}`;
  for (let i = 1; i < points.length; ++i) {
    const [x0, y0] = points[i - 1], [x1, y1] = points[i], middle = (y0 + y1) / 2;
    d += `C${x0.toFixed(1)},${middle.toFixed(1)} ${x1.toFixed(1)},${middle.toFixed(1)} ${x1.toFixed(1)},${y1.toFixed(1)}`;
  }
  return d;
}
