// A graph as a drawing with pan and zoom, and as text; both can be searched.
const CHUNK = 260;  // boxes drawn at once
const LETTER = 7.1;

// options: {program: the event with the fusion decisions, showKernel(name)}
function graphView(text, options = {}) {
  const graph = parseGraph(text);
  const kernels = kernelsOfOps(options.program);
  const state = {mode: 'drawing', grouping: 'none', chunk: 0, wanted: '', at: -1, hits: []};
  const canvas = h('div', {class: 'canvas'}), side = h('div', {class: 'side'}), body = h('div', {class: 'graph'});
  const lines = h('pre', {class: 'lines'});
  const search = h('input', {type: 'search', placeholder: 'Search', 'aria-label': 'search the graph'});
  const found = h('span', {class: 'small muted found'}), pages = h('span', {class: 'row'});
  const view = {svg: null, box: null, home: null};
  let boxes = [], drawn = new Map();

  const groupings = [['none', 'Ops']];
  if (kernels) groupings.push(['kernel', 'Kernels']);
  if (graph.ops.some(n => n.scope)) groupings.push(['scope', 'Scopes']);
  if (kernels && graph.ops.length > 40) state.grouping = 'kernel';

  function makeBoxes() {
    const keys = state.grouping === 'scope' ? scopeKeys(graph, 1) : null;
    const keyOf = state.grouping === 'kernel' ? n => kernels.get(n.index)?.call ?? null : keys ? n => keys.get(n.id) : () => null;
    boxes = topological(groupNodes(graph, keyOf)).map(group => boxOf(group, state.grouping, kernels));
  }

  function draw() {
    const start = state.chunk * CHUNK, part = boxes.slice(start, start + CHUNK);
    const here = new Set(part.map(b => b.id)), ghosts = new Map();
    for (const box of part)
      for (const read of box.reads)
        if (!here.has(read) && !ghosts.has(read)) ghosts.set(read, ghostOf(boxes.find(b => b.id === read)));
    const shown = [...ghosts.values(), ...part];
    const {edges, left, right, height} = layout(shown);
    drawn = new Map();
    const layerOfEdges = s('g'), layerOfNodes = s('g');
    for (const edge of edges) {
      edge.path = s('path', {class: edge.long ? 'edge long' : 'edge', d: pathOf(edge)});
      layerOfEdges.append(edge.path);
    }
    for (const box of shown) {
      box.element = drawBox(box, () => select(box, edges));
      drawn.set(box.id, box);
      layerOfNodes.append(box.element);
    }
    const top = shown.filter(b => b.y < 260);
    view.start = top.length ? sum(top, b => b.x) / top.length : 0;
    view.home = {x: left - 30, y: -30, w: Math.max(200, right - left + 60), h: Math.max(120, height + 30)};
    view.svg = s('svg', {role: 'img', 'aria-label': 'graph'}, layerOfEdges, layerOfNodes);
    canvas.replaceChildren(view.svg);
    movable(view, canvas);
    markHits();
  }

  function select(box, edges) {
    for (const other of drawn.values()) other.element.classList.toggle('at', other === box);
    for (const edge of edges || []) edge.path.classList.toggle('on', edge.from === box || edge.to === box);
    const kernel = box.kernel && options.showKernel;
    side.replaceChildren(...[
      h('h3', {}, box.title), box.type && h('div', {class: 'mono muted'}, box.type), box.ghost && h('p', {class: 'muted'}, 'Defined in another part of the drawing.'),
      kernel && h('p', {}, h('a', {href: '#', onclick(e) { e.preventDefault(); options.showKernel(box.kernel); }}, `Source of ${box.kernel}`)),
      h('pre', {class: 'wrap'}, box.members.map(n => marked(n.text + '\n', state.wanted)))].filter(Boolean));
  }

  function markHits() {
    state.hits = [];
    boxes.forEach((box, i) => {
      const hit = state.wanted && box.members.some(n => n.text.toLowerCase().includes(state.wanted.toLowerCase()));
      if (hit) state.hits.push(i);
      const shown = drawn.get(box.id);
      if (shown) shown.element.classList.toggle('hit', Boolean(hit));
    });
    if (state.mode === 'drawing') found.textContent = state.wanted ? count(state.hits.length, 'match', 'matches') : '';
  }

  function next() {
    if (state.mode === 'text') return nextLine();
    if (!state.hits.length) return;
    state.at = (state.at + 1) % state.hits.length;
    const index = state.hits[state.at], chunk = Math.floor(index / CHUNK);
    if (chunk !== state.chunk) { state.chunk = chunk; draw(); showPages(); }
    const box = drawn.get(boxes[index].id);
    centre(view, box);
    select(box);
  }

  function writeLines() {
    let hits = 0;
    lines.replaceChildren(...graph.lines.map(line => {
      const hit = state.wanted && line.toLowerCase().includes(state.wanted.toLowerCase());
      if (hit) ++hits;
      return h('div', {class: hit ? 'hit' : ''}, hit ? marked(line, state.wanted) : line || ' ');
    }));
    found.textContent = state.wanted ? count(hits, 'line') : '';
  }
  function nextLine() {
    const all = [...lines.querySelectorAll('mark')];
    if (!all.length) return;
    state.at = (state.at + 1) % all.length;
    all.forEach((mark, i) => mark.classList.toggle('at', i === state.at));
    all[state.at].scrollIntoView({block: 'center', inline: 'nearest'});
  }

  function showPages() {
    const total = Math.ceil(boxes.length / CHUNK);
    const go = step => () => { state.chunk = Math.min(total - 1, Math.max(0, state.chunk + step)); draw(); showPages(); };
    pages.replaceChildren();
    if (total < 2 || state.mode === 'text') return;
    const from = state.chunk * CHUNK + 1, to = Math.min(boxes.length, from + CHUNK - 1);
    const before = tool('‹', 'earlier part', go(-1)), after = tool('›', 'later part', go(1));
    before.disabled = state.chunk === 0;
    after.disabled = state.chunk === total - 1;
    pages.append(before, h('span', {class: 'small muted'}, `${from} to ${to} of ${boxes.length}`), after);
  }

  const zoomTools = h('span', {class: 'row'},
    tool('−', 'zoom out', () => zoom(view, 1.3)), tool('+', 'zoom in', () => zoom(view, 1 / 1.3)), tool('Fit', 'show all', () => fit(view)));
  const groupTools = groupings.length > 1 ? pick(groupings, state.grouping, key => { state.grouping = key; state.chunk = 0; state.at = -1; makeBoxes(); draw(); showPages(); }) : null;
  function show() {
    state.at = -1;
    zoomTools.hidden = state.mode === 'text';
    zoomTools.style.display = state.mode === 'text' ? 'none' : '';
    if (groupTools) groupTools.style.display = state.mode === 'text' ? 'none' : '';
    if (state.mode === 'text') { body.style.display = 'block'; body.replaceChildren(lines); writeLines(); }
    else { body.style.display = ''; body.replaceChildren(canvas, side); makeBoxes(); draw(); }
    showPages();
  }
  search.addEventListener('input', () => { state.wanted = search.value.trim(); state.at = -1; state.mode === 'text' ? writeLines() : markHits(); });
  search.addEventListener('keydown', e => { if (e.key === 'Enter') next(); });
  side.append(h('p', {class: 'muted'}, 'Click a box for its text. Drag to move, turn the wheel to zoom.'), legend(graph, kernels));
  show();
  return h('div', {},
    h('div', {class: 'row', style: {'margin-bottom': '0.7rem'}},
      pick([['drawing', 'Drawing'], ['text', 'Text']], 'drawing', mode => { state.mode = mode; show(); }),
      groupTools, search, tool('Next', 'next match', next), found, zoomTools, pages), body);
}

function kernelsOfOps(program) {
  if (!program || !program.kernels.length) return null;
  const out = new Map();
  program.decisions.forEach((decision, call) => {  // a kernel may be called more than once
    const name = kernelOf(decision);
    if (name) for (const node of decision.nodes) out.set(node, {name, call});
  });
  return out;
}

// Topological order: in the text, a group may begin before the groups that it reads end.
function topological(groups) {
  const waits = groups.map(g => g.reads.size), readers = groups.map(() => []), out = [];
  for (const group of groups) for (const read of group.reads) readers[read].push(group.id);
  const ready = groups.filter(g => waits[g.id] === 0).map(g => g.id);
  for (let i = 0; i < ready.length; ++i) {
    out.push(groups[ready[i]]);
    for (const reader of readers[ready[i]]) if (--waits[reader] === 0) ready.push(reader);
  }
  if (out.length < groups.length) return groups;
  // Ordered by last line in the text, so that parts of a long graph stay together.
  return out.sort((a, b) => Math.max(...a.members.map(n => n.line)) - Math.max(...b.members.map(n => n.line)));
}

function boxOf(group, grouping, kernels) {
  const [first] = group.members, many = group.members.length > 1 || (group.key != null && grouping === 'scope');
  const kernel = grouping !== 'scope' && kernels ? kernels.get(first.index)?.name : null;
  const scope = group.key != null && grouping === 'scope' ? group.key.replace(/^\d+\|/, '') : '';
  const title = scope || (many && kernel) || first.op || first.label;
  let label = scope || (many && kernel ? summary(group.members) : first.label);
  if (label.length > 34) label = label.slice(0, 33) + '…';
  const type = many ? count(group.members.length, 'op') : first.type;
  const tint = kernel ? hueOf(kernel) : scope ? hueOf(scope) : first.backward ? 28 : 215;
  const pill = first.kind !== 'op';
  let kind = pill ? `pill ${first.kind} ${first.role === 'saved' ? 'saved' : ''}` : '';
  if (!pill && kernels && !kernel && !scope) kind = 'grey';
  const small = type.length > 30 ? type.slice(0, 29) + '…' : type;
  return {id: group.id, reads: group.reads, members: group.members, title, label, type, small, kernel, hue: tint, kind,
    width: Math.max(label.length * LETTER, small.length * 6) + 18, height: small ? 36 : 24};
}

function summary(members) {
  const names = [...new Set(members.map(n => n.label))];
  return names.slice(0, 3).join(' · ') + (names.length > 3 ? ' …' : '');
}

const ghostOf = box => ({...box, ghost: true, reads: new Set(), kind: 'ghost', small: '', height: 24});

function drawBox(box, click) {
  const {x, y, width, height} = box;
  const round = /pill|ghost/.test(box.kind) ? height / 2 : 7;
  return s('g', {class: `node ${box.kind}`, style: {'--hue': box.hue}, onclick: click},
    s('title', {}, box.title), s('rect', {x: x - width / 2, y: y - height / 2, width, height, rx: round}),
    s('text', {x, y: box.small ? y - 2 : y + 4}, box.label), box.small && s('text', {class: 'type', x, y: y + 11}, box.small));
}

function legend(graph, kernels) {
  const item = (color, text) => h('span', {}, h('i', {style: {background: color}}), text);
  const tinted = hue => `hsl(${hue} var(--node-s) var(--node-l))`;
  const rows = kernels ? [h('span', {}, 'One colour, one kernel.'), item('var(--soft)', 'by LibTorch')]
    : [item(tinted(215), 'forward'), graph.ops.some(n => n.backward) && item(tinted(28), 'backward')];
  return h('div', {class: 'legend'}, rows, item('var(--good)', 'result'), graph.nodes.some(n => n.role === 'saved') && item('var(--warm)', 'saved'));
}
