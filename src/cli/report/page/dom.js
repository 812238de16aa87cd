// Elements and numbers. No code of the page parses HTML from strings: contents of traces are always text nodes.
const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity))
    if (child != null && child !== false) element.append(child instanceof Node ? child : String(child));
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function bytes(n) {
  if (n == null) return '';
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (Math.abs(n) >= 1000 && unit < units.length - 1) { n /= 1000; ++unit; }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toPrecision(3)} ${units[unit]}`;
}
function time(us) {
  if (us == null) return '';
  if (us >= 1e6) return `${(us / 1e6).toPrecision(3)} s`;
  if (us >= 1e3) return `${us >= 1e5 ? Math.round(us / 1e3) : (us / 1e3).toPrecision(3)} ms`;
  return `${us >= 100 ? Math.round(us) : Number(us.toPrecision(3))} µs`;
}
const count = (n, word, words) => `${n.toLocaleString('en')} ${n === 1 ? word : words || word + 's'}`;
const sum = (list, of) => list.reduce((total, item) => total + (of ? of(item) : item), 0);
const hue = i => Math.round((i * 137.508 + 215) % 360);
function hueOf(text) {
  let hash = 7;
  for (const c of text) hash = (hash * 31 + c.charCodeAt(0)) % 9973;
  return hue(hash);
}

const badge = (text, kind) => h('span', {class: `badge ${kind || ''}`}, text);
const card = (title, ...children) => h('section', {class: 'card'}, title && h('h2', {}, title), ...children);
const fact = (label, value, more) => h('div', {class: 'card fact'},
  h('div', {class: 'label'}, label), h('div', {class: 'value'}, value), more && h('div', {class: 'more'}, more));
const empty = text => h('p', {class: 'empty'}, text);

// columns: [title, class]
function table(columns, rows) {
  return h('div', {class: 'scroll'}, h('table', {},
    h('thead', {}, h('tr', {}, columns.map(([title, kind]) => h('th', {class: kind}, title)))),
    h('tbody', {}, rows.map(cells => h('tr', {}, cells.map((cell, i) => h('td', {class: columns[i][1]}, cell)))))));
}

function pick(choices, chosen, choose) {
  const box = h('div', {class: 'pick', role: 'group'});
  for (const [key, text] of choices)
    box.append(h('button', {type: 'button', 'data-key': key, 'aria-pressed': String(key === chosen), onclick() {
      for (const other of box.children) other.setAttribute('aria-pressed', String(other === this));
      choose(key);
    }}, text));
  return box;
}

const tool = (text, title, run) => h('button', {class: 'tool', type: 'button', title, 'aria-label': title, onclick: run}, text);

// A line of text with the search matches marked.
function marked(text, wanted) {
  if (!wanted) return [text];
  const out = [], low = text.toLowerCase(), what = wanted.toLowerCase();
  let done = 0;
  for (let at = low.indexOf(what); at >= 0; at = low.indexOf(what, done)) {
    out.push(text.slice(done, at), h('mark', {}, text.slice(at, at + what.length)));
    done = at + what.length;
  }
  out.push(text.slice(done));
  return out;
}

const C_WORDS = new Set(('for if else while return const static inline int64_t int32_t uint64_t uint32_t uint8_t int8_t int16_t uint16_t ' +
  'float double void restrict unsigned int char _Bool struct typedef long break continue do').split(' '));
function code(text) {
  const parts = text.match(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|"[^"\n]*"|\b\d[\w.+]*|\w+|\s+|[^\w\s]/g) || [];
  return h('pre', {class: 'tall'}, parts.map(part => {
    const kind = /^\/[/*]/.test(part) ? 'c' : part[0] === '"' ? 's' : /^\d/.test(part) ? 'n' : C_WORDS.has(part) ? 'k' : '';
    return kind ? h('span', {class: kind}, part) : part;
  }));
}
