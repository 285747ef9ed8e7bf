// All sessions: sorted, filtered, with a line of their last minute.
import { coalesce, h, setAttribute, setChildren, setText } from '../dom.mjs';
import { bytes, count, duration, visible } from '../format.mjs';
import { sparkline } from '../chart.mjs';
import { urlLinks } from '../agent-facts.mjs';
import { caption, scroll } from '../pieces.mjs';
import { State } from '../state.mjs';

/** Rows in the table; sorting and filter decide which. */
const step = 200;

const columns = [
  { key: 'session', title: 'Session', get: row => row.name },
  { key: 'requests', title: 'Requests/s', get: row => row.now?.requests ?? 0, text: row => count(row.now?.requests ?? 0) },
  { key: 'errors', title: 'Errors/s', get: row => row.now?.errors ?? 0, text: row => count(row.now?.errors ?? 0) },
  { key: 'p50', title: 'p50', class: 'wide', get: row => row.now?.p50Us ?? -1, text: row => duration(row.now?.p50Us) },
  { key: 'p95', title: 'p95', class: 'wide', get: row => row.now?.p95Us ?? -1, text: row => duration(row.now?.p95Us) },
  { key: 'p99', title: 'p99', get: row => row.now?.p99Us ?? -1, text: row => duration(row.now?.p99Us) },
  { key: 'in', title: 'In/s', class: 'wide', get: row => row.now?.bytesIn ?? 0, text: row => bytes(row.now?.bytesIn ?? 0) },
  { key: 'out', title: 'Out/s', class: 'middle', get: row => row.now?.bytesOut ?? 0, text: row => bytes(row.now?.bytesOut ?? 0) },
  {
    key: 'uplinks', title: 'Uplinks', class: 'wide', get: row => row.agent?.uplinks?.length ?? 0,
    text: row => row.agent?.online ? count(row.agent.uplinks.length) : '–',
  },
];

/** What a row shows where nothing is known of the present. */
const unknown = '–';

function open({ state, params, setParams }) {
  let sort = columns.find(one => one.key === params.get('sort')) ?? columns[1];
  let isDown = params.get('order') ? params.get('order') !== 'up' : sort.key !== 'session';
  let filter = params.get('filter') ?? '', limit = step;
  const rows = new Map(), body = h('tbody'), words = h('p', { class: 'note' });
  const heads = columns.map(one => {
    const button = h('button', { type: 'button', text: one.title, on: { click() {
      if (sort === one) isDown = !isDown; else { sort = one; isDown = one.key !== 'session'; }
      setParams({ sort: one.key, order: isDown ? 'down' : 'up' });
      draw();
    } } });
    return h('th', { scope: 'col', class: one.class }, button);
  });
  const input = h('input', { type: 'search', id: 'f-filter', autocomplete: 'off', spellcheck: 'false' });
  input.value = filter;
  input.addEventListener('input', () => { filter = input.value.trim(); setParams({ filter }); limit = step; draw(); });
  const more = h('button', { type: 'button', hidden: true, on: { click() { limit += step; draw(); } } });
  const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Filter sessions' }, h('label', null, 'Name, agent or version has', input));
  form.addEventListener('submit', event => event.preventDefault());
  const table = h('table', { class: 'sortable' }, caption('Sessions'), h('thead', null, h('tr', null,
    heads[0], h('th', { scope: 'col', class: 'spark-head', text: 'Last minute' }), heads.slice(1),
    h('th', { scope: 'col', class: 'left wide', text: 'Public URL' }), h('th', { scope: 'col', class: 'left', text: 'Agent version' }))), body);

  function makeRow(name) {
    const spark = sparkline(), urlCell = h('td', { class: 'left wide' }), agentCell = h('td', { class: 'left' });
    const cells = columns.slice(1).map(one => h('td', { class: one.class }));
    const link = h('a', { href: `#/session/${encodeURIComponent(name)}` }, h('bdi', { text: visible(name, 60) }));
    const element = h('tr', null,
      h('th', { scope: 'row' }, link), h('td', { class: 'spark-cell' }, spark.element), cells, urlCell, agentCell);
    return { name, spark, cells, urlCell, agentCell, element, url: null };
  }

  function rowOf(name) {
    let row = rows.get(name);
    if (!row) rows.set(name, row = makeRow(name));
    row.rate = state.rates.get(name);
    row.agent = state.agents.get(name);
    row.now = State.fresh(row.rate);
    return row;
  }

  function fill(row) {
    columns.slice(1).forEach((one, i) => setText(row.cells[i], state.isLive ? one.text(row) : unknown));
    setAttribute(row.element, 'class', (row.now?.errors ?? 0) > 0 ? 'bad' : row.agent && !row.agent.online ? 'off' : null);
    // One URL: the page of the session has all.
    const url = row.agent?.urls?.[0] ?? '';
    if (url !== row.url) row.urlCell.replaceChildren(...urlLinks(row.agent).slice(0, 1));
    row.url = url;
    setText(row.agentCell, !row.agent ? '' : row.agent.online ? visible(row.agent.version, 40) : 'away');
    // A second ends two seconds before the page has it.
    const newest = Math.floor(state.now() / 1000) - 3;
    const at = second => row.rate?.spark.get(second) ?? (state.wasFollowed(second) ? 0 : null);
    row.spark.draw(Array.from({ length: 60 }, (_, i) => at(newest - 59 + i)));
  }

  const draw = coalesce(() => {
    const names = new Set([...state.agents.keys(), ...state.rates.keys()]);
    const wanted = filter.toLowerCase();
    const all = [...names].map(rowOf).filter(row => !wanted || row.name.includes(wanted)
      || `${row.agent?.version ?? ''} ${row.agent?.identity ?? ''}`.toLowerCase().includes(wanted));
    for (const name of rows.keys()) if (!names.has(name)) rows.delete(name);
    all.sort((one, other) => {
      const [a, b] = [sort.get(one), sort.get(other)], order = a < b ? -1 : a > b ? 1 : 0;
      return (isDown ? -order : order) || (one.name < other.name ? -1 : 1);
    });
    const shown = all.slice(0, limit);
    shown.forEach(fill);
    for (const { name } of shown) state.fillSpark(name);
    setChildren(body, shown.map(row => row.element));
    heads.forEach((head, i) => setAttribute(head, 'aria-sort', columns[i] === sort ? (isDown ? 'descending' : 'ascending') : null));
    table.hidden = all.length === 0;
    const unsent = state.agentsLeft > 0 ? `; ${count(state.agentsLeft)} more are not sent` : '';
    // Before the list has come, nothing is known of sessions.
    setText(words, names.size === 0 && !state.agentsAt ? '' : names.size === 0 ? 'No session yet. Start an agent: tunnel2 http 3000'
      : `${count(all.length)} of ${count(names.size)} sessions${unsent}`);
    more.hidden = all.length <= limit;
    setText(more, `Show more (${count(all.length - limit)})`);
  });
  const stops = [state.watchRates(), state.watchAgents(), state.on(draw)];
  const timer = setInterval(draw, 1000);
  draw();
  return {
    element: h('section', { 'aria-label': 'Sessions' }, form, words, scroll('Table of sessions', table), more),
    close() { clearInterval(timer); for (const stop of stops) stop(); state.endSparks(); draw.cancel(); },
  };
}

export default { path: 'sessions', title: 'Sessions', order: 1, open };
