// Pages and navigation: #overview, #time, #cache, #warnings, #f<process>.<function>/<version>/<section>.
const model = makeModel(JSON.parse(document.getElementById('data').textContent));
const allVersions = model.functions.flatMap(f => f.versions), allSpans = model.processes.flatMap(p => p.spans);
const allLookups = model.processes.flatMap(p => p.lookups), allWarnings = model.processes.flatMap(p => p.warnings);
const used = model.functions.filter(f => f.versions.length);
const address = f => `#f${f.process.index}.${f.id}`;

const KINDS = {
  eager: ['Runs eagerly', 'bad', 'docs/errors.md says what to do about each error.'],
  compile_failure: ['Could not be compiled', 'bad', 'Set Options::compile_failure to Error to get source and diagnostics.'],
  fixed_size: ['A size is fixed', 'warm', 'docs/dynamic-shapes.md says what fixes sizes.'],
  shape_fallback: ['Shape from a real kernel', '', ''],
  cache: ['Cache', 'warm', 'docs/caching.md says what can be cached and what is stored.'],
  compiled_autograd: ['Compiled autograd', 'warm', 'docs/compiled-autograd.md says what it leaves to the engine.'],
  error: ['Was refused', 'bad', 'docs/errors.md says what to do about each error.'],
  not_closed: ['Ended early', 'bad', 'What it was to write after that is missing on this page.'],
  trace: ['Trace', 'warm', ''],
};

function overview() {
  const hits = allLookups.filter(l => l.outcome === 'hit').length, kernels = allVersions.flatMap(v => [...v.kernels.forward.values(), ...v.kernels.backward.values()]);
  const compiled = kernels.filter(k => k.from === 'compiled').length;
  const never = model.functions.filter(f => !f.versions.length);
  return [h('h1', {}, 'Overview'),
    model.problems.length > 0 && card('Problems', model.problems.map(text => h('p', {}, text))),
    h('div', {class: 'cards'},
      fact('functions', used.length, never.length ? `${never.length} more never called` : 'all of them called'),
      fact('versions', allVersions.length, `${allVersions.filter(v => v.dynamic).length} for sizes that change`),
      fact('time to compile', time(compileTime(allSpans)), `in ${count(roots(allSpans).length, 'piece')}`),
      fact('kernels', kernels.length ? kernels.length : sum(allVersions, v => stepsOf(v).filter(r => r.kernel).length), kernels.length ? `${compiled} compiled, ${kernels.length - compiled} found` : 'all with their functions, from the cache'),
      fact('cache', allLookups.length ? `${hits} of ${allLookups.length}` : 'off', allLookups.length ? 'lookups were hits' : 'nothing was looked up'),
      fact('warnings', allWarnings.length, allWarnings.length ? h('a', {href: '#warnings'}, 'what they say') : 'none')),
    card('Functions', used.length ? table([['name'], ['versions', 'num'], ['compiled in', 'num'], ['forward', 'num'], ['backward', 'num'], ['saved', 'num'], ['peak memory', 'num'], ['', '']], used.map(overviewRow)) : empty('No function was called while the trace was written.'),
      h('p', {class: 'muted small'}, 'Times of passes are sums of medians over their first runs, of the newest version. Peak memory: estimated, against running op by op.')),
    card('What compiling spent its time on', stagesTable(allSpans)),
    card('Processes', table([['process', 'num'], ['program'], ['began'], ['file'], ['', '']], model.processes.map(p => [p.pid, p.program, p.unix ? new Date(p.unix / 1000).toLocaleString() : '', h('span', {class: 'mono'}, p.file),
      [p.badLines > 0 && badge(`${count(p.badLines, 'line')} unreadable`, 'bad'), p.newer && badge('newer format', 'warm'), p.spans.some(x => x.open) && badge(`ended during: ${p.spans.filter(x => x.open).pop().name}`, 'bad')]])))];
}

function overviewRow(f) {
  const v = f.versions[f.versions.length - 1], [forward, backward] = runTime(v);
  const highest = parts => Math.max(0, ...parts.filter(Boolean).flat());
  const ours = highest([v.memory.forward && v.memory.forward.bytes, v.memory.backward && v.memory.backward.bytes]);
  const eager = v.eagerMemory ? highest([v.eagerMemory.forward, v.eagerMemory.backward]) : 0;
  return [h('a', {href: address(f)}, f.name), f.versions.length, time(compileTime(f.spans)), time(forward), time(backward), v.partition ? bytes(v.partition.saved_bytes) : '',
    ours ? `${bytes(ours)}${eager ? ` (${(ours / eager).toFixed(2)}×)` : ''}` : '', [f.warnings.length > 0 && badge(count(f.warnings.length, 'warning'), 'warm'), f.versions.some(x => x.eager) && badge('eager', 'bad')]];
}

const SECTIONS = [['summary', 'Summary'], ['graphs', 'Graphs'], ['memory', 'Memory'], ['saved', 'Saved values'], ['kernels', 'Kernels'], ['cache', 'Cache'], ['time', 'Compile time'], ['warnings', 'Warnings']];

function functionPage(f, number, section, rest) {
  const version = f.byNumber.get(Number(number)) || f.versions[f.versions.length - 1];
  if (!version) return [h('h1', {}, f.name), card(null, empty('It was made, but never called while the trace was written.'))];
  const link = (v, part) => `${address(f)}/${v.number}/${part}`;
  const go = (part, extra) => { location.hash = `${link(version, part)}${extra ? `/${encodeURIComponent(extra)}` : ''}`; };
  const own = f.spans.filter(span => span.v === version.number);
  const show = {
    summary: () => [reasonSection(version), guardsSection(version), f.versions.length > 1 && versionsTable(f, link)],
    graphs: () => graphsSection(version, go), memory: () => memorySection(version), saved: () => savedSection(version),
    kernels: () => kernelsSection(version, rest && decodeURIComponent(rest)),
    cache: () => card('Lookups', lookupsTable(version.lookups)),
    time: () => [card('What compiling spent its time on', stagesTable(own)), card('Compilation', flameCharts(own, f.process.spans), h('p', {class: 'muted small'}, 'Click a bar to enlarge it, and again to see all.'))],
    warnings: () => warningsList(f.warnings),
  };
  const here = show[section] ? section : 'summary';
  return [h('div', {}, h('div', {class: 'row apart'}, h('h1', {}, f.name), h('span', {class: 'muted small'}, `policy ${f.policy || 'unknown'}`)),
    f.versions.length > 1 && h('div', {class: 'row', style: {'margin-top': '0.7rem'}}, pick(f.versions.map(v => [String(v.number), `Version ${v.number}`]), String(version.number), n => { location.hash = `${address(f)}/${n}/${here}`; }))),
    h('div', {class: 'tabs'}, SECTIONS.map(([key, name]) => h('a', {href: link(version, key), class: key === here ? 'here' : ''}, name, key === 'warnings' && f.warnings.length > 0 ? ` (${f.warnings.length})` : ''))),
    show[here]()];
}

function versionsTable(f, link) {
  return card('All versions', table([['version'], ['why'], ['sizes'], ['compiled in', 'num']], f.versions.map(v => [h('a', {href: link(v, 'summary')}, `Version ${v.number}`), v.reason || 'first call',
    v.eager ? badge('eager', 'bad') : badge(v.dynamic ? 'symbols' : 'fixed'), time(compileTime(f.spans.filter(x => x.v === v.number)))])));
}

function warningsList(list) {
  if (!list.length) return card(null, empty('None.'));
  return card(null, list.map(w => {
    const [name, kind, more] = KINDS[w.kind] || [w.kind, '', ''];
    return h('div', {class: 'note'}, h('div', {class: 'row'}, badge(name, kind), w.owner && h('a', {href: address(w.owner)}, w.owner.name)),
      h('pre', {class: 'wrap'}, w.text), (w.way_out || more) && h('p', {class: 'small'}, [w.way_out, more].filter(Boolean).join('. ').replace('..', '.')));
  }));
}

const PAGES = {
  overview: ['Overview', overview],
  time: ['Compile time', () => [h('h1', {}, 'Compile time'), card('What compiling spent its time on', stagesTable(allSpans)), card('Compilations, in order', flameCharts(allSpans, allSpans))]],
  cache: ['Cache', () => [h('h1', {}, 'Cache'), card('Lookups', lookupsTable(allLookups, true))]],
  warnings: ['Warnings', () => [h('h1', {}, 'Warnings'), warningsList(allWarnings)]],
};

function render() {
  const [first, number, section, rest] = location.hash.replace(/^#/, '').split('/');
  const wanted = /^f(\d+)\.(\d+)$/.exec(first);
  const f = wanted && model.functions.find(x => x.process.index === Number(wanted[1]) && x.id === Number(wanted[2]));
  const page = f ? first : PAGES[first] ? first : 'overview';
  const link = (key, text, extra) => h('a', {href: `#${key}`, class: key === page ? 'here' : '', title: text}, h('span', {}, text), extra && h('span', {class: 'muted small'}, extra));
  document.getElementById('nav').replaceChildren(link('overview', 'Overview'), h('div', {class: 'head'}, 'Functions'),
    ...used.map(x => link(address(x).slice(1), x.name, x.versions.length > 1 ? `${x.versions.length} versions` : '')), h('div', {class: 'head'}, 'All functions'),
    link('time', 'Compile time'), link('cache', 'Cache'), link('warnings', 'Warnings', allWarnings.length || ''));
  const parts = f ? functionPage(f, number, section, rest) : PAGES[page][1]();
  document.getElementById('main').replaceChildren(...parts.flat().filter(Boolean));
  document.title = `${f ? f.name : PAGES[page][0]} · antegrad report`;
}
document.getElementById('where').textContent = model.directory;
window.addEventListener('hashchange', () => { render(); window.scrollTo(0, 0); });
render();
