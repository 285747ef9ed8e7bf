// Builds elements and shows text of others. Nothing here ever makes markup of a text.

// Characters that are not visible by themselves, or that change how their neighbours are shown.
const hidden = new RegExp('[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f'
  + '\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\uffff]');

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

// A text of others as nodes: each hidden character is shown as its number. Neighbours share an element, so that many of them are no load.
export function shown(text, lines = false) {
  text = String(text ?? '');
  const nodes = [];
  let from = 0, codes = '';
  const close = () => {
    if (codes) nodes.push(element('span', { class: 'control' }, codes));
    codes = '';
  };
  for (let i = 0; i < text.length; i++) {
    const one = text[i];
    const isBare = one >= '\ud800' && one <= '\udfff' && !isPair(text, i);
    const isTag = one === '\udb40' && !isBare;
    if (!(hidden.test(one) || isBare || isTag || (!lines && (one === '\n' || one === '\t')))) continue;
    if (lines && one === '\r' && text[i + 1] === '\n') continue;
    if (i > from) {
      close();
      nodes.push(text.slice(from, i));
    }
    const code = isTag ? text.codePointAt(i) : text.charCodeAt(i);
    codes += `${codes && ' '}U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    if (isTag) i++;
    from = i + 1;
  }
  close();
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

// The same where there is room for a text only, such as a title.
export const plain = (text) => shown(text).map((node) => node.textContent ?? node).join('');

// Whether all characters of a text show what they are.
export const isSeen = (text) => shown(text ?? '', true).every((node) => typeof node === 'string');

function isPair(text, i) {
  const one = text.charCodeAt(i);
  return one < 0xdc00 ? text.charCodeAt(i + 1) >= 0xdc00 && text.charCodeAt(i + 1) <= 0xdfff
    : text.charCodeAt(i - 1) >= 0xd800 && text.charCodeAt(i - 1) < 0xdc00;
}

// JSON with its line ends and nothing else changed: a parsed number may be another one, and a name that comes twice would be there once.
export function pretty(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let made = '', depth = 0, before = '';
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    const isEnd = token === ']' || token === '}';
    const isFirst = before === '[' || before === '{';
    if (isEnd) depth--;
    if (isEnd ? !isFirst : isFirst || before === ',') made += '\n' + '  '.repeat(depth);
    made += token === ':' ? ': ' : token;
    if (token === '[' || token === '{') depth++;
    // The space before its lines would be many times the text.
    if (depth > 100) return text;
    before = token;
  }
  return made;
}

export function bytesOf(body) {
  if (body.base64 === undefined && body.utf8 === false) return Uint8Array.from(body.text, (one) => one.charCodeAt(0));
  if (body.base64 === undefined) return new TextEncoder().encode(body.text ?? '');
  return Uint8Array.from(atob(body.base64), (one) => one.charCodeAt(0));
}

export function hex(bytes, most = 16384) {
  const lines = [];
  for (let at = 0; at < Math.min(bytes.length, most); at += 16) {
    const row = bytes.subarray(at, Math.min(at + 16, most));
    const codes = [...row].map((one) => one.toString(16).padStart(2, '0')).join(' ').padEnd(47);
    const signs = [...row].map((one) => (one >= 32 && one < 127 ? String.fromCharCode(one) : '.')).join('');
    lines.push(at.toString(16).padStart(6, '0') + '  ' + codes + '  ' + signs);
  }
  if (bytes.length > most) lines.push(`… ${bytes.length - most} bytes more`);
  return lines.join('\n');
}

export function size(count) {
  return count < 1000 ? `${count} B` : count < 1e6 ? `${(count / 1e3).toFixed(1)} kB` : count < 1e9 ? `${(count / 1e6).toFixed(1)} MB`
    : `${(count / 1e9).toFixed(2)} GB`;
}

export function time(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  return milliseconds < 1 ? `${milliseconds.toFixed(2)} ms` : milliseconds < 1000 ? `${milliseconds.toFixed(1)} ms`
    : milliseconds < 60000 ? `${(milliseconds / 1000).toFixed(2)} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function clock(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleTimeString(undefined, { hour12: false });
}

// What was edited, with the line ends of what it was before: a text field keeps no \r. Where lines came or went, those before and after the
// change have their own ends, and the new ones those of most.
export function withLineEnds(text, before) {
  const ends = before.match(/\r\n|\r|\n/g) ?? [];
  const old = before.split(/\r\n|\r|\n/);
  const lines = text.split('\n');
  const usual = 2 * ends.filter((end) => end === '\r\n').length > ends.length ? '\r\n' : '\n';
  const changed = old.findIndex((line, at) => line !== lines[at]);
  const added = lines.length - old.length;
  const isOld = (at) => added === 0 || changed < 0 || at < changed;
  return lines.map((line, at) => (at === lines.length - 1 ? line
    : line + ((isOld(at) ? ends[at] : line === old[at - added] ? ends[at - added] : null) ?? usual))).join('');
}
