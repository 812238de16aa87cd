// Builds processes, functions and versions from trace events (docs/report.md).
function makeModel(data) {
  const processes = data.traces.map(readProcess);
  const functions = processes.flatMap(p => p.functions);
  return {processes, functions, directory: data.directory, problems: data.problems || []};
}

function readProcess(trace, index) {
  const process = {index, file: trace.file, pid: 0, program: '', unix: 0, badLines: trace.bad_lines || 0, functions: [],
    spans: [], stacks: new Map(), warnings: [], lookups: [], byId: new Map(), newer: false};
  const open = new Map();
  let last = 0;
  for (const event of trace.events) {
    last = Math.max(last, event.t || 0);
    const reader = READERS[event.e];
    if (reader) reader(process, event, open);
  }
  for (const span of open.values()) { span.end = last; span.open = true; }
  const during = [...open.values()].pop();
  if (trace.not_closed) READERS.warning(process, {kind: 'not_closed', text: `${trace.file}: ${trace.not_closed}`,
    way_out: during ? `The last thing it began and did not end: ${during.name}` : 'It was not compiling anything at that time'});
  process.used = process.functions.filter(f => f.versions.length > 0);
  return process;
}

function functionOf(process, event) {
  const id = event.f || 0;
  if (!process.byId.has(id)) {
    const made = {process, id, name: id ? `function ${id}` : '(none)', versions: [], byNumber: new Map(), warnings: [], spans: []};
    process.byId.set(id, made);
    if (id) process.functions.push(made);
  }
  return process.byId.get(id);
}

function versionOf(process, event) {
  const owner = functionOf(process, event), number = event.v || 0;
  if (!owner.byNumber.has(number)) {
    const made = {owner, number, reason: '', guards: [], sizes: '', eager: false, dynamic: false, made: false, graphs: {}, programs: {},
      kernels: {forward: new Map(), backward: new Map()}, memory: {}, times: {}, lookups: [], instances: []};
    owner.byNumber.set(number, made);
    if (number) owner.versions.push(made);
  }
  return owner.byNumber.get(number);
}

const passOf = event => event.pass === 'backward' ? 'backward' : 'forward';

const READERS = {
  process(process, event) {
    Object.assign(process, {pid: event.pid, program: event.program || '', unix: event.unix_us || 0, newer: event.format > 1});
  },
  function(process, event) {
    Object.assign(functionOf(process, event), {name: event.name, policy: event.policy});
  },
  version(process, event) {
    const version = versionOf(process, event);
    Object.assign(version, {reason: event.reason || '', guards: event.guards || [], sizes: event.sizes || '', eager: event.eager,
      dynamic: event.dynamic, made: true});
    if (event.name != null) version.owner.name = event.name;
  },
  sizes(process, event) { versionOf(process, event).instances.push(event.symbols || []); },
  graph(process, event) { versionOf(process, event).graphs[event.which] = event.text; },
  partition(process, event) { versionOf(process, event).partition = event; },
  program(process, event) { versionOf(process, event).programs[passOf(event)] = event; },
  kernel(process, event) { versionOf(process, event).kernels[passOf(event)].set(event.name, event); },
  memory(process, event) { versionOf(process, event).memory[passOf(event)] = event; },
  eager_memory(process, event) { versionOf(process, event).eagerMemory = event; },
  times(process, event) { versionOf(process, event).times[passOf(event)] = event; },
  cache(process, event) {
    const lookup = {...event, owner: functionOf(process, event), pass: passOf(event)};
    process.lookups.push(lookup);
    if (event.f) versionOf(process, event).lookups.push(lookup);
  },
  warning(process, event) {
    const warning = {...event, owner: event.f ? functionOf(process, event) : null, process};
    process.warnings.push(warning);
    if (warning.owner) warning.owner.warnings.push(warning);
  },
  begin(process, event, open) {
    const span = {id: event.id, name: event.name, detail: event.detail || '', start: event.t, end: event.t, tid: event.tid, f: event.f || 0,
      v: event.v || 0, pass: event.pass || '', children: [], depth: 0, parent: null, process};
    const stack = process.stacks.get(event.tid) || [];
    process.stacks.set(event.tid, stack);
    if (stack.length) {
      span.parent = stack[stack.length - 1];
      span.depth = span.parent.depth + 1;
      span.parent.children.push(span);
    }
    stack.push(span);
    open.set(event.id, span);
    process.spans.push(span);
    if (span.f) functionOf(process, event).spans.push(span);
  },
  end(process, event, open) {
    const span = open.get(event.id);
    if (!span) return;
    span.end = event.t;
    open.delete(event.id);
    const stack = process.stacks.get(span.tid);
    if (stack.includes(span)) stack.length = stack.indexOf(span);
  },
};

const duration = span => span.end - span.start;
const selfTime = span => Math.max(0, duration(span) - sum(span.children, duration));
const HELPER = 'compile C';  // the span of helper threads while a version waits for them
const roots = spans => spans.filter(span => !span.parent && span.name !== HELPER && span.name !== 'trace');
const compileTime = spans => sum(roots(spans), duration);

// Self time by span name, in microseconds.
function stages(spans) {
  const out = new Map();
  const helpers = new Set(spans.filter(span => span.name === HELPER && !span.parent));
  for (const span of spans) {
    if (helpers.has(span)) continue;
    const name = span.name === 'pass' ? `pass ${span.detail}` : span.name;
    out.set(name, (out.get(name) || 0) + selfTime(span));
  }
  return [...out].sort((a, b) => b[1] - a[1]);
}

// Kernels and LibTorch calls of a version with their known properties, slowest first.
function stepsOf(version) {
  const out = [];
  for (const pass of ['forward', 'backward']) {
    const program = version.programs[pass], times = version.times[pass], rows = new Map();
    const hit = version.lookups.some(l => l.pass === pass && l.outcome === 'hit');
    for (const kernel of (program && program.kernels) || []) {
      const made = version.kernels[pass].get(kernel.name);
      rows.set(kernel.name, {pass, name: kernel.name, kernel, made, from: made ? made.from : hit ? 'cache' : '', calls: 0, us: null,
        ops: opsOf(program, kernel.name)});
    }
    if (times) times.steps.forEach((name, i) => {
      if (!rows.has(name)) rows.set(name, {pass, name, kernel: null, from: 'LibTorch', calls: 0, us: null, ops: []});
      const row = rows.get(name);
      ++row.calls;
      row.us = (row.us || 0) + times.us[i];
    });
    out.push(...rows.values());
  }
  return out.sort((a, b) => (b.us || 0) - (a.us || 0));
}

// The decision for a fused group starts with "kernel NAME:".
const kernelOf = decision => (/^kernel ([^\s:]+)/.exec(decision.what) || [])[1];
function opsOf(program, name) {
  return program.decisions.filter(d => kernelOf(d) === name).flatMap(d => d.nodes);
}
const runTime = version => ['forward', 'backward'].map(pass => version.times[pass] ? sum(version.times[pass].us) : null);
