// Parses graph text (docs/graph-text.md) to nodes with the values they read and define. Other lines are skipped.
function parseGraph(text) {
  const graph = {nodes: [], lines: text.split('\n'), ops: []};
  const definedBy = new Map();
  const add = (node, defines, reads) => {
    node.id = graph.nodes.length;
    node.reads = [...new Set(reads)].map(v => definedBy.get(v)).filter(n => n !== undefined && n !== node.id);
    for (const v of defines) definedBy.set(v, node.id);
    graph.nodes.push(node);
    return node;
  };
  graph.lines.forEach((raw, line) => {
    const text = raw.trim();
    let found;
    if ((found = /^in (%\d+): (\S+)(?: &%\d+)? (\w+)(?: "(.*)")?$/.exec(text)))
      add({kind: 'in', role: found[3], label: found[4] || found[3], type: found[2], text, line, scope: ''}, [found[1]], []);
    else if ((found = /^out (%\d+|none) (\w+)(.*)$/.exec(text)))
      add({kind: 'out', role: found[2], label: `${found[2]}${found[3]}`.trim(), type: '', text, line, scope: ''}, [], [found[1]]);
    else if ((found = readNode(text))) {
      found.node.line = line;
      found.node.index = graph.ops.length;
      graph.ops.push(add(found.node, found.defines, found.reads));
    }
  });
  return graph;
}

function readNode(text) {
  let rest = text, left = '';
  if (/^(%|\[)/.test(text)) {
    const cut = text.indexOf(' = ');
    if (cut < 0) return null;
    left = text.slice(0, cut);
    rest = text.slice(cut + 3);
  }
  const call = /^(functional )?([A-Za-z_][\w.:]*|op "[^"]*")\(/.exec(rest);
  if (!call) return null;
  const outside = rest.replace(/"(?:[^"\\]|\\.)*"/g, '""');  // ignores "%1" inside strings
  const scope = / at "((?:[^"\\]|\\.)*)"/.exec(rest);
  return {
    node: {kind: 'op', op: call[2], label: shortOp(call[2]), type: typeOf(left), text, scope: scope ? scope[1] : '',
      backward: / backward\b/.test(outside.slice(outside.lastIndexOf(')')))},
    defines: [...left.matchAll(/(%\d+):/g)].map(m => m[1]),
    reads: outside.match(/%\d+/g) || [],
  };
}

const typeOf = left => (/%\d+: (\w+(?:\[[^\]]*\])?)/.exec(left) || [])[1] || '';
function shortOp(op) {
  const parts = op.replace(/^op "|"$/g, '').split('.');
  return parts.length > 1 ? parts[1] : parts[0];
}

// Joins nodes into groups. `keyOf(node)` is the group, or null for a node that stays alone. A group reads another when
// any of its nodes reads one of the other.
function groupNodes(graph, keyOf) {
  const groups = [], groupOf = new Map(), byKey = new Map();
  for (const node of graph.nodes) {
    const key = node.kind === 'op' ? keyOf(node) : null;
    let group = key == null ? null : byKey.get(key);
    if (!group) {
      group = {id: groups.length, members: [], reads: new Set(), key};
      groups.push(group);
      if (key != null) byKey.set(key, group);
    }
    group.members.push(node);
    groupOf.set(node.id, group.id);
  }
  for (const group of groups)
    for (const node of group.members)
      for (const read of node.reads) if (groupOf.get(read) !== group.id) group.reads.add(groupOf.get(read));
  return groups;
}

// Groups consecutive nodes of one scope. A scope that is left and entered again gives two groups, which avoids cycles.
function scopeKeys(graph, depth) {
  const keys = new Map();
  let before = null, run = 0;
  for (const node of graph.ops) {
    const scope = node.scope.split(/[./]/).slice(0, depth).join('.') + (node.backward ? ' (backward)' : '');
    if (scope !== before) { before = scope; ++run; }
    keys.set(node.id, node.scope ? `${run}|${scope}` : null);
  }
  return keys;
}
