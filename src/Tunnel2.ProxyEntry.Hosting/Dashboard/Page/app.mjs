// The frame of all pages: links, state of the connection, theme, token, and the way from the address to a page.
import { h, setText } from './dom.mjs';
import { long, time, visible } from './format.mjs';
import { Live } from './live.mjs';
import { State } from './state.mjs';
import { all } from './scope.mjs';
import * as modules from './pages.mjs';

const $ = id => document.getElementById(id);
const pages = Object.values(modules).sort((one, other) => one.order - other.order);
const live = new Live(), state = new State(live);
const ownBuild = document.querySelector('meta[name=build]').content;

// ---- the address: #/page/part?parameter=value

function readAddress() {
  const hash = location.hash.slice(1);
  // The form of an earlier page: #web.
  if (hash && !hash.startsWith('/')) return { path: 'session', rest: [decode(hash)], params: new URLSearchParams() };
  const [path, query] = hash.slice(1).split(/\?(.*)/s);
  const [first, ...rest] = path.split('/');
  return { path: first, rest: rest.map(decode), params: new URLSearchParams(query ?? '') };
}

function decode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

let open = null;

function route() {
  const { path, rest, params } = readAddress();
  const found = pages.find(one => one.path === path) ?? pages[0];
  // Of all nodes together the first page is another one.
  const page = found.path === '' && live.at === all ? pages.find(one => one.isOfCluster) : found;
  const keyOf = () => `${live.at}/${page.path}/${rest.join('/')}?${params}`;
  const key = keyOf();
  if (open?.key === key) return;
  open?.page.close?.();
  const context = {
    live, state, params, rest, holds,
    /** Keeps parameters in the address, so that a reload or a copied link shows the same. Empty ones are left out. */
    setParams(values) {
      for (const [name, value] of Object.entries(values)) if (value) params.set(name, value); else params.delete(name);
      const query = params.toString();
      if (open) open.key = keyOf();
      const where = [page.path, ...rest.map(encodeURIComponent)].filter(Boolean).join('/');
      history.replaceState(null, '', `#/${where}${query ? `?${query}` : ''}`);
    },
  };
  const isFirst = open === null;
  open = { key, page: page.open(context) };
  $('main').replaceChildren(h('h1', { text: page.heading?.(rest) ?? page.title }), open.page.element);
  document.title = `${page.heading?.(rest) ?? page.title} – Tunnel2`;
  for (const link of $('nav').children) {
    if (link.dataset.path === (page.parent ?? page.path)) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (!isFirst) { scrollTo(0, 0); $('main').focus({ preventScroll: true }); }
}

const badge = h('span', { class: 'badge', hidden: true });
$('nav').append(...pages.filter(page => !page.parent && !page.isOfCluster).map(page =>
  h('a', { href: `#/${page.path}`, 'data-path': page.path }, page.title, page.path === 'alerts' ? badge : null)));
addEventListener('hashchange', route);
document.querySelector('.skip').addEventListener('click', event => { event.preventDefault(); $('main').focus(); });

// ---- the nodes of a cluster

let ownInfo = null;

function showNode(at) {
  state.clear();
  live.show(at);
  drawNodes();
  route();
}

/** The choice of nodes, where there is a cluster. All nodes are shown unless somebody has chosen one in this tab. */
function drawNodes() {
  const select = $('nodes');
  select.hidden = state.self === null;
  const names = new Set([...nodes.keys(), ...(live.at && live.at !== all ? [live.at] : [])]);
  const text = JSON.stringify([...names, live.at]);
  if (select.dataset.drawn === text) return;
  select.dataset.drawn = text;
  select.replaceChildren(
    h('option', { value: all, text: 'all nodes' }),
    ...[...names].sort().map(name => h('option', { value: name, text: visible(name, 40) })));
  select.value = live.at ?? all;
  setText($('nav').firstChild, live.at === all ? 'Cluster' : 'Node');
}

const nodes = new Map();
live.subscribe('=cluster.nodes', (key, data) => { nodes.set(key, data); drawNodes(); });
live.subscribe('=node.info', (_, data) => {
  ownInfo = data;
  setText($('footer'), `${visible(data.entry, 60)}, version ${visible(data.version.split('+')[0], 40)}`);
  compareBuilds();
});
$('nodes').addEventListener('change', () => { sessionStorage.setItem('tunnel2-at', $('nodes').value); showNode($('nodes').value); });

// ---- an upgrade of the server

/** Reasons of pages not to be loaded again now, such as an edited text. */
const holds = new Set();

function compareBuilds() {
  if (!ownInfo || ownInfo.build === ownBuild) return;
  const tried = sessionStorage.getItem('tunnel2-reloaded') === ownInfo.build;
  if (!tried && holds.size === 0) {
    sessionStorage.setItem('tunnel2-reloaded', ownInfo.build);
    location.reload();
    return;
  }
  const why = holds.size > 0
    ? `it waits for you: ${[...holds].join(', ')}`
    : 'loading it again gave the same one: a cache on the way keeps it';
  notice(
    `The server was upgraded, and this page is of the version before. It was not loaded again, because ${why}.`,
    'Load again', () => location.reload());
}

function notice(text, action, run) {
  $('notice').hidden = false;
  $('notice').replaceChildren(
    h('span', { text }), ...action ? [h('button', { type: 'button', text: action, on: { click: run } })] : []);
}

// ---- the connection

const words = {
  live: 'live', connecting: 'connecting', paused: 'paused', token: 'token needed', refused: 'refused', waiting: 'disconnected',
};

function drawState() {
  const { kind, text, since, next } = live.state;
  const element = $('state');
  element.className = `state ${kind}`;
  setText(element, kind === 'live' ? text : words[kind]);
  element.title = text;
  document.documentElement.dataset.live = kind;
  if (kind === 'waiting' || kind === 'refused') {
    const left = Math.max(0, Math.round((next - Date.now()) / 1000));
    const reason = kind === 'refused' ? `The server refuses this page: ${visible(text)}` : 'The server does not answer';
    // The seconds are not read out each time: only the first words are a new alert.
    if ($('notice').dataset.kind !== kind) {
      notice('', 'Try now', () => live.connect());
      $('notice').firstChild.append(
        h('span', { text: `${reason}, since ${time(since, true)}. ` }), h('span', { 'aria-hidden': 'true', class: 'countdown' }));
      $('notice').dataset.kind = kind;
    }
    setText($('notice').querySelector('.countdown'), left > 0 ? `Next try in ${left} s.` : 'Trying…');
  } else if (kind === 'paused') {
    if ($('notice').dataset.kind !== kind) {
      notice(`The server has paused this page since ${time(since, true)}: it is short of memory or processors, and this page does not `
        + 'keep up. What is missed meanwhile is shown as a gap. The page goes on by itself.');
      $('notice').dataset.kind = kind;
    }
  } else if (kind !== 'connecting' && $('notice').dataset.kind) {
    delete $('notice').dataset.kind;
    $('notice').hidden = true;
  }
  $('login').hidden = kind !== 'token';
  if (kind === 'token') setText($('login-text'), text);
}

live.onState(state => { drawState(); if (state.kind === 'token') $('token').focus(); });
$('login').addEventListener('submit', event => {
  event.preventDefault();
  live.useToken($('token').value);
  $('token').value = '';
});
addEventListener('online', () => { if (live.state.kind === 'waiting') live.connect(); });

// ---- theme

const themes = { auto: 'dark', dark: 'light', light: 'auto' };

function drawTheme() {
  const theme = document.documentElement.dataset.theme ?? 'auto';
  setText($('theme'), { auto: '◐', dark: '☾', light: '☀' }[theme]);
  $('theme').title = `Theme: ${theme === 'auto' ? 'as the system' : theme}`;
  $('theme').setAttribute('aria-label', $('theme').title);
}

$('theme').addEventListener('click', () => {
  const theme = themes[document.documentElement.dataset.theme ?? 'auto'];
  if (theme === 'auto') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
  try { localStorage.setItem('tunnel2-theme', theme); } catch { /* Storage is off: the choice lasts as long as the page. */ }
  drawTheme();
});

// ---- all together

state.on(what => {
  if (what === 'cluster' && live.at === null) showNode(sessionStorage.getItem('tunnel2-at') ?? all);
  if (what === 'alerts') {
    badge.hidden = state.alerts.length === 0;
    setText(badge, String(state.alerts.length + state.moreAlerts));
    badge.setAttribute('aria-label', `${badge.textContent} alerts`);
  }
});
setInterval(() => {
  drawState();
  if (ownInfo) $('footer').title = `runs for ${long(Date.now() - ownInfo.startedMs)}`;
}, 1000);
drawTheme();
drawState();
route();
live.connect();
