// Charts of memory over a run and of compile time.

// Memory curves: forward on the left, backward on the right, each stretched to its share of the width.
function memoryChart(version) {
  const eager = version.eagerMemory, ours = version.memory;
  if (!ours.forward && !eager) return empty('The trace says nothing about memory.');
  const both = Boolean(ours.backward || (eager && eager.backward));
  const curves = [
    {kind: 'eager', name: 'op by op, as eager', parts: eager ? [[eager.forward, eager.forward_labels], both && eager.backward && [eager.backward, eager.backward_labels]] : []},
    {kind: 'ours', name: 'compiled', parts: [ours.forward && [ours.forward.bytes, ours.forward.labels], both && ours.backward && [ours.backward.bytes, ours.backward.labels]]},
  ];
  const W = 1000, H = 320, left = 74, right = 12, top = 14, bottom = 34, inner = W - left - right;
  const highest = Math.max(1, ...curves.flatMap(c => c.parts.filter(Boolean).flatMap(([list]) => list)));
  const y = value => top + (H - top - bottom) * (1 - value / (highest * 1.06));
  const span = i => both ? [left + inner * i * 0.5, inner * 0.5] : [left, inner];
  const svg = s('svg', {class: 'chart memory', viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': 'memory over a run'});
  for (let i = 0; i <= 4; ++i) {
    const value = highest * i / 4;
    svg.append(s('line', {class: 'grid', x1: left, x2: W - right, y1: y(value), y2: y(value)}), s('text', {x: left - 8, y: y(value) + 4, 'text-anchor': 'end'}, bytes(value)));
  }
  ['forward', both && 'backward'].filter(Boolean).forEach((name, i) => {
    const [x, w] = span(i);
    svg.append(s('text', {x: x + w / 2, y: H - 10, 'text-anchor': 'middle'}, `${name} pass`));
    if (i) svg.append(s('line', {class: 'grid', x1: x, x2: x, y1: top, y2: H - bottom}));
  });
  for (const curve of curves)
    curve.parts.forEach((part, i) => {
      if (!part || !part[0].length) return;
      const [x, w] = span(i), step = w / part[0].length;
      let d = '';
      part[0].forEach((value, k) => { d += `${k ? 'L' : 'M'}${(x + k * step).toFixed(1)},${y(value).toFixed(1)}H${(x + (k + 1) * step).toFixed(1)}`; });
      svg.append(s('path', {class: `${curve.kind}-area`, d: `${d}V${y(0)}H${x}Z`}), s('path', {class: curve.kind, d}));
    });
  const cursor = s('line', {class: 'cursor', y1: top, y2: H - bottom, visibility: 'hidden'}), hint = h('div', {class: 'hint'}, 'Point at the chart for the steps.');
  svg.append(cursor);
  svg.addEventListener('pointermove', event => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const share = Math.min(0.99999, Math.max(0, (point.x - left) / inner)), i = both && share >= 0.5 ? 1 : 0, local = both ? share * 2 - i : share;
    cursor.setAttribute('x1', left + share * inner);
    cursor.setAttribute('x2', left + share * inner);
    cursor.setAttribute('visibility', 'visible');
    hint.textContent = curves.map(curve => {
      const part = curve.parts[i];
      if (!part || !part[0].length) return '';
      const k = Math.floor(local * part[0].length);
      return `${curve.name}: ${bytes(part[0][k])} at ${part[1][k]}`;
    }).filter(Boolean).join('   ·   ');
  });
  const peak = curve => Math.max(0, ...curve.parts.filter(Boolean).flatMap(([list]) => list));
  const [eagerPeak, ourPeak] = curves.map(peak);
  return h('div', {},
    h('div', {class: 'legend', style: {'margin-bottom': '0.5rem'}},
      h('span', {}, h('i', {style: {background: 'var(--warm)'}}), `op by op, as eager: peak ${bytes(eagerPeak)}`),
      h('span', {}, h('i', {style: {background: 'var(--accent)'}}), `compiled: peak ${bytes(ourPeak)}`),
      eagerPeak > 0 && ourPeak > 0 && h('span', {}, `ratio ${(ourPeak / eagerPeak).toFixed(2)}`)),
    svg, hint);
}

// One chart per root span; nothing is compiled between roots.
function flameCharts(spans, all) {
  const list = roots(spans);
  if (!list.length) return empty('Nothing was compiled while the trace was written.');
  const shown = 30;
  return h('div', {}, list.slice(0, shown).map(root => flame(root, all)),
    list.length > shown && h('p', {class: 'muted'}, `${list.length - shown} more are left out here; --chrome-trace has all of them.`));
}

function flame(root, all) {
  const inside = span => span === root || (span.parent && inside(span.parent));
  const rows = [], deepest = new Map();
  const collect = span => { rows.push({span, row: span.depth - root.depth}); span.children.forEach(collect); };
  collect(root);
  let below = Math.max(...rows.map(r => r.row)) + 1;
  for (const span of all) {  // work of other threads at the same time
    if (span.name !== HELPER || span.tid === root.tid || span.end < root.start || span.start > root.end || inside(span)) continue;
    if (!deepest.has(span.tid)) deepest.set(span.tid, below++);
    rows.push({span, row: deepest.get(span.tid)});
  }
  const W = 1000, ROW = 22, total = Math.max(1, duration(root));
  const hint = h('div', {class: 'hint'}), svg = s('svg', {class: 'flame chart', viewBox: `0 0 ${W} ${below * ROW + 2}`});
  let from = root.start, to = root.end;
  const describe = span => `${span.name}${span.detail ? ` ${span.detail}` : ''}: ${time(duration(span))}${span.open ? ', not finished' : ''}` +
    (span.children.length ? ` (${time(selfTime(span))} in itself)` : '') + (span.tid !== root.tid ? `, thread ${span.tid}` : '');
  function draw() {
    const scale = W / Math.max(1, to - from);
    svg.replaceChildren(...rows.map(({span, row}) => {
      const x = Math.max(0, (span.start - from) * scale), end = Math.min(W, (span.end - from) * scale), w = end - x;
      if (end < 0 || x > W || w < 0.15) return null;
      const name = span.detail && w > 90 ? `${span.name} ${span.detail}` : span.name, room = Math.floor((w - 8) / 6.2);
      return s('g', {}, s('rect', {x, y: row * ROW, width: w, height: ROW - 2, rx: 3, class: span.open ? 'open' : '', style: {'--hue': hueOf(span.name)},
        onpointerenter() { hint.textContent = describe(span); }, onclick() { [from, to] = from === span.start && to === span.end ? [root.start, root.end] : [span.start, span.end]; draw(); }}),
        room > 2 && s('text', {x: x + 5, y: row * ROW + 14}, name.length > room ? name.slice(0, room - 1) + '…' : name));
    }).filter(Boolean));
  }
  draw();
  const pass = root.pass ? `, ${root.pass}` : '', version = root.v ? `, version ${root.v}` : '';
  return h('div', {style: {'margin-bottom': '1.3rem'}},
    h('div', {class: 'row apart', style: {'margin-bottom': '0.4rem'}},
      h('h3', {}, `${root.name}${root.detail ? ` of ${root.detail}` : ''}`, h('span', {class: 'muted'}, `${version}${pass}`)), h('span', {class: 'num'}, time(total))),
    svg, hint);
}

function stagesTable(spans) {
  const list = stages(spans), total = Math.max(1, sum(list, ([, us]) => us));
  if (!list.length) return empty('Nothing was compiled while the trace was written.');
  return h('div', {},
    h('div', {class: 'stack', style: {'margin-bottom': '0.8rem'}}, list.map(([name, us]) => h('span', {title: `${name}: ${time(us)}`, style: {'--hue': hueOf(name), width: `${100 * us / total}%`}}))),
    table([['stage'], ['time', 'num'], ['share', 'num'], ['', 'wide']], list.slice(0, 14).map(([name, us]) =>
      [name, time(us), `${(100 * us / total).toFixed(1)} %`, h('div', {class: 'bar tinted', style: {'--hue': hueOf(name), width: `${100 * us / Math.max(1, list[0][1])}%`}})])));
}
