import { call, download, exchangeOf, inspection, isEntry, keepToken, path, post, Refused, sessions, stampOf } from './api.js';
import { detailView } from './detail.js';
import { clock, element, plain, shown, size, time } from './text.js';

const get = (id) => document.getElementById(id);
const rows = get('rows');
const filters = ['q', 'method', 'status', 'kind'];
const state = { session: '', id: null, stamp: null, tab: 'Response', reveal: false, paused: false, older: [], next: undefined, link };
let build = null;
let known = [];
let turn = 0;
let waiting = new AbortController();
let shownDetail = '';
let shownAway = '[]';
// The filter that address and list have: what is being typed becomes it a moment after the last key, for both at once.
let filter = {};

// The address is the state: a reload, a bookmark and a sent link show the same.
function readAddress() {
  const [place, query] = location.hash.replace(/^#/, '').split('?');
  const parts = place.split('/').filter(Boolean);
  // In a cluster an id names its node: e1:12.
  const hasId = parts.at(-2) === 'x' && /^([a-z0-9~-]{1,24}:)?[0-9]{1,15}$/.test(parts.at(-1));
  const parameters = new URLSearchParams(query ?? '');
  state.id = hasId ? parts.pop() : null;
  if (hasId) parts.pop();
  state.stamp = hasId ? parameters.get('at') : null;
  state.tab = parameters.get('tab') ?? 'Response';
  state.session = parts.length === 1 ? decoded(parts[0]) : known[0]?.name ?? '';
  for (const name of filters) get(name).value = parameters.get(name) ?? '';
  takeFilter();
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// The address of an exchange, or of the list. It names the session wherever another one may be the first.
function link(id, stamp) {
  const session = isEntry || state.session !== known[0]?.name ? `/${encodeURIComponent(state.session)}` : '';
  return `#${session}${id === null ? '/' : `/x/${id}`}${stamp ? `?at=${stamp}` : ''}`;
}

function writeAddress(isNew = true) {
  const parameters = new URLSearchParams();
  if (state.id !== null && state.stamp) parameters.set('at', state.stamp);
  for (const name of filters) if (filter[name]) parameters.set(name, filter[name]);
  if (state.tab !== 'Response') parameters.set('tab', state.tab);
  const query = parameters.toString();
  const hash = link(state.id) + (query ? '?' + query : '');
  if (hash !== location.hash && !(hash === '#/' && location.hash === '')) history[isNew ? 'pushState' : 'replaceState'](null, '', hash);
}

function go(changes) {
  const { focus, ...rest } = changes;
  if ('id' in rest && rest.id !== state.id) state.reveal = false;
  if ('id' in rest) state.stamp = null;
  Object.assign(state, rest);
  writeAddress();
  shownDetail = '';
  showDetail(focus);
  mark();
  // On a narrow screen there is room for one of both, and the focus goes with it.
  if (rest.id === null) rows.focus();
  else if ('id' in rest && rows.offsetParent === null) get('detail').focus();
}

function say(text, kind) {
  get('state').textContent = text;
  get('state').className = kind;
}

// The inspector itself answers. Its agent may have no connection to the server.
function sayOf(cutOff) {
  state.cutOff = cutOff;
  say(cutOff ? 'the agent is not connected to its server' : 'live', cutOff ? 'bad' : 'good');
}

function takeFilter() {
  filter = Object.fromEntries(filters.map((name) => [name, get(name).value]));
}

// What is waited for is given up: a browser has few connections to a server, and each wait has one.
function nextTurn() {
  waiting.abort();
  waiting = new AbortController();
  return ++turn;
}

async function start() {
  const mine = nextTurn();
  let isWrong = false;
  while (mine === turn) {
    try {
      const answer = await sessions();
      if (mine !== turn) return;
      if (build !== null && build !== answer.build) return upgraded();
      build = answer.build;
      known = answer.sessions;
      readAddress();
      showSessions();
      if (known.some((one) => one.name === state.session)) break;
      showAbsent();
      await pause(2000);
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 401) {
        await login(isWrong ? problem.message : '');
        isWrong = true;
      } else {
        say(problem instanceof Refused ? problem.message : 'no answer; trying again', 'bad');
        await pause(problem instanceof Refused && problem.status === 429 ? 5000 : 1000);
      }
    }
  }
  if (mine !== turn) return;
  // A session that ends does not make this page one of the next.
  if (isEntry) writeAddress(false);
  showDetail();
  follow(nextTurn());
}

// A user who edits a request would lose it with the page: then it is loaded again when the dialog is closed.
function upgraded() {
  if (!get('dialog').open) return location.reload();
  say('the program was upgraded; this page is loaded again when the dialog is closed', 'bad');
  get('dialog').addEventListener('close', () => location.reload(), { once: true });
}

function showSessions() {
  get('session').replaceChildren(...known.map((one) => element('option', { value: one.name }, shown(one.name))));
  get('session-label').hidden = known.length < 2 && known.some((one) => one.name === state.session);
  get('session').value = state.session;
  showWhere();
}

function showWhere() {
  const one = known.find((session) => session.name === state.session);
  get('absent').hidden = Boolean(one);
  get('where').replaceChildren(...(one ? shown((one.urls[0] ?? one.name) + (one.upstream ? ` → ${one.upstream}` : '')) : []));
  get('har').href = path(state.session, '.har', filter);
  get('dashboard').hidden = !isEntry;
  get('dashboard').href = state.session ? `/#/session/${encodeURIComponent(state.session)}` : '/#/sessions';
  showUntil(one?.until);
}

function showUntil(until) {
  get('until').hidden = !until;
  if (until) get('until-time').textContent = `inspected until ${clock(until)}`;
}

// The session of the address is not inspected: not yet, not any more, or there is none of this name.
function showAbsent() {
  rows.replaceChildren();
  state.older = [];
  state.id = null;
  showDetail();
  for (const id of ['empty', 'more', 'away']) get(id).hidden = true;
  get('held').textContent = '';
  say('not inspected', 'bad');
  const name = state.session;
  if (get('absent').dataset.session === name && get('absent').childElementCount > 0) return;
  get('absent').dataset.session = name;
  const begin = element('button', { type: 'button', class: 'main', id: 'inspect', onclick: () => prolong(name) }, 'Inspect it for 10 minutes');
  get('absent').replaceChildren(...(!isEntry ? ['There is no tunnel of this name here. ', element('a', { href: '#/' }, 'Show the first one')]
    : name ? ['The session ', element('strong', {}, shown(name)), ' is not inspected, or no longer: what was kept of it is dropped. ', begin, ' ',
      element('span', { class: 'problem', role: 'alert' })]
      : ['No session is inspected. ', element('a', { href: '/#/sessions' }, 'Choose one on the dashboard'), '.']));
}

async function prolong(name) {
  try {
    showUntil((await inspection(name, 'PUT')).until);
    if (!known.some((one) => one.name === name)) start();
  } catch (problem) {
    // The state is written again at the next try; beside the button the reason stays.
    const place = get('absent').hidden ? null : get('absent').querySelector('.problem');
    if (place) place.textContent = problem.message;
    else say(problem.message, 'bad');
  }
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Asks for the list again when it has changed: at most a few times a second, and not while the page is out of sight.
async function follow(mine) {
  let since;
  while (mine === turn) {
    if (state.paused || document.hidden) {
      await pause(300);
      continue;
    }
    try {
      const list = await call(path(state.session, '', { ...filter, limit: 200, since, wait: since === undefined ? '' : 20 }),
        { signal: waiting.signal });
      if (mine !== turn) return;
      if (list.build !== build) return upgraded();
      showUntil(list.until);
      if (state.paused) continue;
      if (since !== list.version) show(list);
      since = list.version;
      sayOf(list.cutOff);
      await pause(250);
    } catch (problem) {
      if (mine !== turn) return;
      if (problem instanceof Refused && problem.status === 401) return start();
      if (problem instanceof Refused && problem.status === 404) return pause(1000).then(start);
      since = undefined;
      say(problem instanceof Refused ? problem.message : `${isEntry ? 'ProxyEntry' : 'the agent'} does not answer; trying again`, 'bad');
      await pause(1000);
      if (!(problem instanceof Refused)) return start();
    }
  }
}

function show(list) {
  showAway((list.nodes ?? []).filter((one) => one.state !== 'up'));
  const lost = list.skipped > 0 ? `; ${list.skipped} did not fit` : '';
  const shownCount = `${list.exchanges.length}${list.more ? ' newest' : ''} ${list.exchanges.length === 1 ? 'request' : 'requests'}`;
  get('held').textContent = `${shownCount}, ${size(list.bytes)} of ${size(list.limitBytes)} held${lost}`;
  get('empty').hidden = list.exchanges.length > 0;
  get('empty').textContent = Object.values(filter).some(Boolean) ? 'No request here fits the filter.'
    : 'No requests yet. Open the public URL, and they appear here.';
  get('more').hidden = !list.more;
  const before = new Map([...rows.children].map((row) => [row.dataset.id, row]));
  const made = list.exchanges.map((one) => {
    const text = JSON.stringify(one);
    const old = before.get(String(one.id));
    return old?.made === text ? old : makeRow(one, text);
  });
  const there = new Set(list.exchanges.map((one) => String(one.id)));
  const olderThan = list.exchanges.at(-1)?.startedAt ?? '9';
  rows.replaceChildren(...made, ...state.older.filter((row) => row.startedAt <= olderThan && !there.has(row.dataset.id)));
  if (state.older.length === 0) state.next = list.next ?? list.exchanges.at(-1)?.id;
  mark();
  const open = list.exchanges.find((one) => String(one.id) === state.id);
  if (open && JSON.stringify(open) !== shownDetail && !rows.dataset.busy) showDetail(undefined, JSON.stringify(open));
}

// The nodes of which the list lacks something. Written only when it changes, because it is read out then.
function showAway(nodes) {
  const text = JSON.stringify(nodes);
  if (text === shownAway) return;
  shownAway = text;
  const made = nodes.map((one) => element('p', {}, 'Node ', element('strong', {}, shown(one.node)), one.state === 'restarted'
    ? ' was started again: what it had kept before is gone.'
    : [` is ${one.state === 'older' ? 'of an older release' : one.state}`, ...shown(one.problem ? `: ${one.problem}` : ''),
      '. Its requests are not in this list.']));
  const place = get('away');
  place.replaceChildren(...made);
  place.hidden = made.length === 0;
}

function makeRow(one, text) {
  const row = element('li', { 'data-id': one.id });
  row.made = text;
  row.startedAt = one.startedAt;
  const facts = [one.kind === 'http' ? '' : one.kind, one.via ? 'replay' : '', one.ended ? time(one.durationMs) : 'open', size(one.responseBytes), clock(one.startedAt), one.node ?? ''];
  const status = one.status ? String(one.status) : one.ended ? '—' : '…';
  row.append(element('a', {
    href: link(one.id, stampOf(one)), tabindex: '-1', onclick: (event) => { event.preventDefault(); go({ id: String(one.id), stamp: stampOf(one) }); },
  },
    element('span', { class: `status s${Math.min(5, Math.floor(one.status / 100))}${one.error ? ' failed' : ''}` }, status),
    element('span', { class: 'method' }, shown(one.method)), element('span', { class: 'target', title: plain(one.target) }, shown(one.target)),
    element('span', { class: 'more' }, facts.filter(Boolean).join(' · ')),
    one.error ? element('span', { class: 'reason' }, `${one.leg}: `, shown(one.error))
      : one.status >= 500 ? element('span', { class: 'reason' }, 'backend: the service itself answered with this status') : null));
  return row;
}

const isShown = (id, exchange) => id === state.id && (!state.stamp || state.stamp === stampOf(exchange));

function mark() {
  for (const row of rows.children) row.firstChild.setAttribute('aria-current', String(isShown(row.dataset.id, row)));
}

async function showDetail(focus, text = '') {
  const place = get('detail');
  const wanted = state.id;
  place.hidden = wanted === null;
  document.querySelector('main').className = wanted === null ? '' : 'both';
  if (wanted === null) return;
  shownDetail = text;
  rows.dataset.busy = '1';
  try {
    const exchange = await exchangeOf(state.session, wanted, state.stamp, state.reveal);
    if (wanted !== state.id) return;
    state.stamp = stampOf(exchange);
    writeAddress(false);
    const held = document.activeElement?.id;
    const top = place.scrollTop;
    place.replaceChildren(detailView(exchange, state, go));
    place.scrollTop = top;
    if (focus === 'tab') get(`tab-${state.tab}`)?.focus();
    else if (held && place.querySelector(`#${CSS.escape(held)}`)) get(held).focus();
  } catch (problem) {
    if (wanted === state.id) {
      place.replaceChildren(element('button', { id: 'back', type: 'button', onclick: () => go({ id: null }) }, '← List'),
        element('p', { class: 'problem' }, shown(problem.message)));
    }
  } finally {
    delete rows.dataset.busy;
  }
}

function login(wrong) {
  return new Promise((done) => {
    const dialog = get('dialog');
    const token = element('input', { type: 'password', 'aria-label': 'Token', autocomplete: 'off' });
    const problem = element('p', { class: 'problem', role: 'alert' }, isEntry ? wrong : null);
    const whose = isEntry ? 'The admin token of ProxyEntry is needed (Admin:Token). It is kept in this tab.'
      : 'This inspector wants its token (TUNNEL2_INSPECT_TOKEN of the agent).';
    const form = element('form', {}, element('p', {}, whose), token,
      element('button', { class: 'main' }, 'Continue'), problem);
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      try {
        if (!isEntry) await post('/api/v1/login', { token: token.value });
        else if (/^[\x21-\x7e]{1,4096}$/.test(token.value)) keepToken(token.value);
        else throw new Error('A token is one word of visible ASCII.');
        dialog.close();
        done();
      } catch (error) {
        problem.textContent = error.message;
      }
    });
    dialog.replaceChildren(element('h2', {}, 'Token'), form);
    if (!dialog.open) dialog.showModal();
  });
}

function restart() {
  state.older = [];
  takeFilter();
  writeAddress();
  showWhere();
  follow(nextTurn());
}

let typing;
get('q').addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(restart, 200); });
for (const name of filters.slice(1)) get(name).addEventListener('change', restart);
get('filters').addEventListener('submit', (event) => { event.preventDefault(); restart(); });
get('session').addEventListener('change', () => { state.session = get('session').value; state.id = null; showDetail(); restart(); });
get('prolong').addEventListener('click', () => prolong(state.session));
get('end').addEventListener('click', async () => {
  try {
    await inspection(state.session, 'DELETE');
    start();
  } catch (problem) {
    say(problem.message, 'bad');
  }
});
get('har').addEventListener('click', (event) => download(event, `${state.session}.har`).catch((problem) => say(problem.message, 'bad')));
get('pause').addEventListener('click', () => {
  state.paused = !state.paused;
  get('pause').setAttribute('aria-pressed', String(state.paused));
  if (state.paused) say('paused', '');
  else sayOf(state.cutOff);
});
get('clear').addEventListener('click', async () => {
  try {
    await call(path(state.session), { method: 'DELETE' });
  } catch (problem) {
    say(problem.message, 'bad');
  }
});
get('more').addEventListener('click', async () => {
  try {
    const list = await call(path(state.session, '', { ...filter, limit: 200, before: state.next }));
    state.older.push(...list.exchanges.map((one) => makeRow(one, JSON.stringify(one))));
    rows.append(...state.older.slice(state.older.length - list.exchanges.length));
    state.next = list.next ?? list.exchanges.at(-1)?.id;
    get('more').hidden = !list.more;
  } catch (problem) {
    say(problem.message, 'bad');
  }
});
addEventListener('hashchange', () => { readAddress(); shownDetail = ''; state.older = []; start(); });
addEventListener('popstate', () => { readAddress(); shownDetail = ''; showDetail(); mark(); });

function move(step) {
  const all = [...rows.children];
  const at = all.findIndex((row) => row.dataset.id === state.id);
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  if (next) {
    go({ id: next.dataset.id, stamp: stampOf(next) });
    next.scrollIntoView({ block: 'nearest' });
  }
}

addEventListener('keydown', (event) => {
  if (get('dialog').open || event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === 'Escape' && !isTyping) go({ id: null });
  if (isTyping) return;
  if (event.key === '/') {
    event.preventDefault();
    get('q').focus();
  } else if (event.key === 'j' || (event.key === 'ArrowDown' && event.target === rows)) {
    event.preventDefault();
    move(1);
  } else if (event.key === 'k' || (event.key === 'ArrowUp' && event.target === rows)) {
    event.preventDefault();
    move(-1);
  } else if (event.key === 'Enter' && event.target === rows && state.id !== null) {
    get('detail').focus();
  } else if (event.key === 'r') {
    get('replay')?.click();
  }
});

start();
