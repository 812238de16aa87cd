// The page of one version of a function.
const GRAPHS = [['captured', 'Captured', 'As it was captured, forward and backward together, before any pass.'],
  ['optimised', 'Optimised', 'After the passes that every graph goes through.'],
  ['forward', 'Forward', 'What a call runs.'], ['backward', 'Backward', 'What backward() runs.']];

function graphsSection(version, go) {
  // Prefers the scheduled program with its kernels; a pass that has not run yet is shown as planned.
  const textOf = key => (version.programs[key] && version.programs[key].text) || version.graphs[key];
  const there = GRAPHS.filter(([key]) => textOf(key));
  if (!there.length) return card('Graphs', empty('The trace has no graphs of this version.'));
  const box = h('div', {}), note = h('p', {class: 'muted small'});
  const show = key => {
    note.textContent = there.find(g => g[0] === key)[2];
    box.replaceChildren(graphView(textOf(key), {program: version.programs[key], showKernel: name => go('kernels', name)}));
  };
  const first = there.some(g => g[0] === 'forward') ? 'forward' : there[0][0];
  const section = card(null, h('div', {class: 'row'}, pick(there.map(([key, name]) => [key, name]), first, show), note), box);
  show(first);
  return section;
}

function guardsSection(version) {
  return card('When it is used',
    version.eager ? h('p', {}, badge('runs eagerly', 'bad'), ' Calls of this kind are not compiled: see the warnings.') : null,
    h('ul', {class: 'plain mono'}, version.guards.map(guard => h('li', {}, guard))),
    version.sizes ? h('div', {}, h('h3', {}, 'Sizes that may change'), h('pre', {class: 'wrap'}, version.sizes),
      h('p', {class: 'muted small'}, `Called with ${count(version.instances.length, 'set')} of sizes while the trace was written.`))
      : !version.eager && h('p', {class: 'muted small'}, 'All sizes are fixed.'));
}

function reasonSection(version) {
  const text = version.reason ? h('pre', {class: 'wrap'}, version.reason)
    : h('p', {}, version.number === 1 ? 'It is the first: nothing was captured before.' : 'The trace does not say.');
  return card('Why it was captured', text, !version.made && h('p', {}, badge('unfinished', 'bad'), ' The trace ends, or an error was thrown, before this version was ready.'));
}

function savedSection(version) {
  const found = version.partition;
  if (!found) return card('Saved for the backward pass', empty('There is no backward pass.'));
  const eager = version.eagerMemory && version.eagerMemory.saved_bytes;
  const list = [...found.decisions].sort((a, b) => b.saved - a.saved || b.bytes - a.bytes);
  const saved = list.filter(d => d.saved), most = Math.max(1, ...list.map(d => d.bytes));
  return h('div', {},
    h('div', {class: 'cards', style: {'margin-bottom': '1.2rem'}},
      fact('saved by the forward pass', bytes(found.saved_bytes), 'inputs not counted'),
      eager != null && fact('eager would save', bytes(eager), eager ? `${(found.saved_bytes / eager).toFixed(2)} times that is kept` : ''),
      fact('values kept', saved.length, `${saved.filter(d => d.op === 'input').length} are inputs, kept as they are`),
      fact('computed again', list.length - saved.length, 'in the backward pass')),
    card('Each value, and why',
      table([['', ''], ['op', 'op'], ['bytes', 'num'], ['', 'size'], ['reason', 'reason']], list.map(d => [
        badge(d.saved ? 'saved' : 'again', d.saved ? 'warm' : 'good'), [h('div', {class: 'mono'}, d.op), d.scope && h('div', {class: 'muted small'}, d.scope)],
        bytes(d.bytes), h('div', {class: `bar ${d.saved ? 'warm' : ''}`, style: {width: `${100 * d.bytes / most}%`}}), d.reason]))));
}

function memorySection(version) {
  return card('Memory over a step', memoryChart(version),
    h('p', {class: 'muted small'}, 'Estimated from the plan: what the passes allocate, inputs and parameters not counted. The compiled passes hold the ' +
      'arena of their intermediate values from beginning to end. The other curve runs the same optimised graph op by op and saves what eager saves.'));
}

function kernelsSection(version, chosen) {
  const rows = stepsOf(version), [forward, backward] = runTime(version), runs = ['forward', 'backward'].map(p => version.times[p] ? version.times[p].runs : 0);
  if (!rows.length) return card('Kernels', empty('The trace has no kernels of this version.'));
  const program = version.programs.forward || version.programs.backward || {}, most = Math.max(1e-9, ...rows.map(r => r.us || 0));
  const kernels = rows.filter(r => r.kernel);
  return h('div', {},
    h('div', {class: 'cards', style: {'margin-bottom': '1.2rem'}},
      fact('forward pass', forward == null ? 'not run' : time(forward), runs[0] ? `sum of medians of ${count(runs[0], 'run')}` : ''),
      fact('backward pass', backward == null ? 'not run' : time(backward), runs[1] ? `sum of medians of ${count(runs[1], 'run')}` : ''),
      fact('kernels', kernels.length, `${kernels.filter(r => r.from === 'compiled').length} compiled, ${kernels.filter(r => r.from && r.from !== 'compiled').length} found`),
      fact('compiler', (kernels.find(r => r.made && r.made.toolchain) || {made: {toolchain: program.toolchain}}).made.toolchain || 'none', program.isa)),
    card('Steps, slowest first', h('div', {}, rows.map(row => stepRow(version, row, most, row.name === chosen))),
      h('p', {class: 'muted small'}, 'Times are measured in the first runs while the trace is written, each step by itself; together they are a little more than an untraced run takes.')),
    leftOut(version));
}

// The scheduler's reason why LibTorch runs an op.
function reasonsOf(version, row) {
  const program = version.programs[row.pass];
  if (!program) return [];
  const {ops} = parseGraph(program.text);
  return [...new Set(program.decisions.filter(d => d.why && d.nodes.some(n => ops[n] && ops[n].op === row.name)).map(d => d.why))];
}

function stepRow(version, row, most, open) {
  const body = h('div', {});
  const details = h('details', {'data-step': row.name}, h('summary', {},
    h('span', {class: 'row apart', style: {display: 'inline-flex', width: 'calc(100% - 1.3rem)', 'vertical-align': 'top'}},
      h('span', {class: 'row'}, h('span', {class: 'mono'}, row.name), badge(row.pass, row.pass === 'forward' ? 'accent' : 'warm'),
        row.kernel ? badge(row.from || 'compiled', row.from === 'compiled' ? '' : 'good') : badge('LibTorch'), row.calls > 1 && h('span', {class: 'muted small'}, `${row.calls} calls`),
        row.kernel && h('span', {class: 'muted small'}, count(row.ops.length, 'op'))),
      h('span', {class: 'num'}, row.us == null ? '' : time(row.us))),
    h('div', {class: `bar ${row.pass === 'forward' ? '' : 'warm'}`, style: {width: `${96 * (row.us || 0) / most}%`}})), body);
  const fillIn = () => {
    if (body.firstChild) return;
    if (!row.kernel) {
      const reasons = reasonsOf(version, row);
      body.append(h('p', {class: 'muted'}, reasons.length ? `Run by LibTorch: ${reasons.join('; ')}.` : 'Run by LibTorch.'));
      return;
    }
    const made = row.made;
    if (made) body.append(h('p', {class: 'muted small'}, made.us != null ? `Compiled in ${time(made.us)} by ${made.toolchain}. ` : '', made.object_bytes ? `Object file of ${bytes(made.object_bytes)}. ` : '', 'Key ', h('span', {class: 'mono'}, made.key)));
    if (row.kernel.text) body.append(h('h3', {}, 'Fused'), h('pre', {class: 'wrap'}, row.kernel.text));
    body.append(h('h3', {style: {margin: '0.6rem 0 0.3rem'}}, 'C source'), code(row.kernel.source));
  };
  details.addEventListener('toggle', fillIn);
  if (open) { fillIn(); details.open = true; requestAnimationFrame(() => details.scrollIntoView({block: 'start'})); }
  return details;
}

function leftOut(version) {
  const why = new Map();
  for (const pass of ['forward', 'backward'])
    for (const d of (version.programs[pass] || {decisions: []}).decisions)
      if (d.why) why.set(`${d.what} (${d.why})`, (why.get(`${d.what} (${d.why})`) || 0) + 1);
  if (!why.size) return null;
  return h('div', {style: {'margin-top': '1.2rem'}}, card('Why ops are not fused, or not compiled',
    table([['decision'], ['times', 'num']], [...why].sort((a, b) => b[1] - a[1]).slice(0, 40).map(([text, n]) => [text, n]))));
}

function lookupsTable(lookups, withName) {
  if (!lookups.length) return empty('Nothing was looked up: the cache is off, or nothing was compiled.');
  const kind = {hit: 'good', miss: '', corrupt: 'bad', refused: 'bad'};
  return table([withName && ['function'], ['pass'], ['outcome'], ['reason'], ['saved', 'num'], ['key']].filter(Boolean), lookups.map(l => [withName && l.owner.name, l.pass,
    badge(l.outcome, kind[l.outcome] ?? 'warm'), l.reason || (l.outcome === 'miss' ? 'not there' : ''), l.saved_s ? time(l.saved_s * 1e6) : '',
    h('span', {class: 'mono', title: l.key}, l.key ? l.key.slice(0, 16) + '…' : '')].filter((_, i) => withName || i > 0)));
}
