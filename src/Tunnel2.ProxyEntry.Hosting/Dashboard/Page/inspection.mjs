// The block of a session's page that inspects the session for a time, and leads to the inspector.
import { h, setText } from './dom.mjs';
import { time } from './format.mjs';

const every = 5000;
const choices = [[5, '5 minutes'], [10, '10 minutes'], [30, '30 minutes'], [60, '1 hour'], [240, '4 hours']];

/** Asks every few seconds, while the page is connected, whether the session is inspected. */
export function inspectionBlock(name, isLive) {
  const path = `/api/v1/sessions/${encodeURIComponent(name)}/inspection`;
  const minutes = h('select', { id: 'inspect-minutes' }, choices.map(([value, text]) => h('option', { value, selected: value === 10, text })));
  const begin = h('button', { type: 'button', id: 'inspect-begin', text: 'Inspect', on: { click: () => change('PUT', `?minutes=${minutes.value}`) } });
  const end = h('button', { type: 'button', id: 'inspect-end', text: 'End', hidden: true, on: { click: () => change('DELETE') } });
  const link = h('a', { id: 'inspect-open', href: `/inspector/#/${encodeURIComponent(name)}/`, hidden: true, text: 'Open the inspector' });
  const words = h('p', { class: 'note', role: 'status' });
  let next = 0, busy = false;

  async function call(method, query = '') {
    const token = sessionStorage.getItem('tunnel2-token');
    const answer = await fetch(path + query, { method, cache: 'no-store', headers: token ? { Authorization: `Bearer ${token}` } : {} });
    if (answer.status === 204) return { until: null };
    const text = await answer.text();
    try {
      const data = JSON.parse(text);
      if (answer.ok) return data;
      throw new Error(data.message ?? data.detail);
    } catch (problem) {
      throw problem instanceof SyntaxError ? new Error(text.trim().slice(0, 200)) : problem;
    }
  }

  function draw({ until, nodes }) {
    const at = (nodes ?? []).filter(one => one.until).map(one => one.node), lost = (nodes ?? []).filter(one => one.state === 'lost').map(one => one.node);
    const where = (at.length > 0 ? ` at ${at.join(', ')}` : '') + (lost.length > 0 ? ` (${lost.join(', ')} does not answer)` : '');
    setText(words, until ? `Inspected${where} until ${time(Date.parse(until), true)}: its requests and answers are kept in memory, and secrets are shown masked.`
      : 'Requests and answers can be kept for a time, for a look at them. Nothing is kept now.');
    setText(begin, until ? 'Inspect for this time from now' : 'Inspect');
    link.hidden = end.hidden = !until;
  }

  async function change(method, query) {
    busy = true;
    begin.disabled = end.disabled = true;
    try {
      draw(await call(method, query));
    } catch (problem) {
      setText(words, problem.message);
    } finally {
      begin.disabled = end.disabled = busy = false;
    }
    // The element that was pressed may have gone, and the next step is the other one.
    (link.hidden ? begin : link).focus();
    next = Date.now() + every;
  }

  async function look() {
    busy = true;
    try {
      draw(await call('GET'));
    } catch {
      // The page itself says that the server does not answer.
    } finally {
      busy = false;
    }
  }

  function tick() {
    if (!isLive() || busy || Date.now() < next || document.hidden) return;
    next = Date.now() + every;
    look();
  }

  const timer = setInterval(tick, 500);
  tick();
  return {
    element: h('section', { class: 'block', 'aria-label': 'Inspector' }, h('h2', { text: 'Inspector' }), words,
      h('div', { class: 'filters' }, h('label', null, 'For', minutes), begin, end, link)),
    close() { clearInterval(timer); },
  };
}
