// All requests as they end, with filters that are kept in the address.
import { h, setText } from '../dom.mjs';
import { count, failureOf, isRefusal } from '../format.mjs';
import { requestList } from '../request-list.mjs';
import { all } from '../scope.mjs';

const kinds = { '': 'every status', failed: 'failed', refused: 'refused by rules', '2xx': '2xx', '3xx': '3xx', '4xx': '4xx', '5xx': '5xx' };
const methodNames = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];

function open({ live, state, params, setParams }) {
  let wanted = {};
  const read = () => {
    const text = params.get('target') ?? '', least = Number.parseFloat(params.get('ms') ?? '');
    wanted = {
      session: (params.get('session') ?? '').toLowerCase(), status: params.get('status') ?? '', method: params.get('method') ?? '',
      text: text.toLowerCase(), least: least > 0 ? least * 1000 : 0,
    };
  };
  const statusRules = new Map([
    ['', () => true],
    ['failed', request => failureOf(request) !== null],
    ['refused', request => isRefusal(failureOf(request), state.info)],
  ]);
  const hasStatus = request => statusRules.get(wanted.status)?.(request)
    ?? Math.min(5, Math.floor(request.status / 100)) === Number(wanted.status[0]);
  const matches = request => request.session.includes(wanted.session) && (!wanted.method || request.method === wanted.method)
    && hasStatus(request) && request.target.toLowerCase().includes(wanted.text) && request.totalUs >= wanted.least;
  read();

  const status = h('p', { class: 'note', id: 'list-note' });
  const list = requestList({
    info: () => state.info, matches, isWhole: live.at !== all,
    onChange() {
      const { kept, shown, waiting, skipped, isReading } = list.counts();
      const unshown = waiting > 0 && (isPaused || isReading)
        ? `, ${count(waiting)} new, not shown while ${isPaused ? 'paused' : 'you read'}` : '';
      const left = skipped > 0 ? `; ${count(skipped)} more were too many to show, tunnel2 tap has them all` : '';
      setText(status, `${count(shown)} of ${count(kept)} requests${unshown}${left}`);
    },
  });
  let isPaused = false;
  const pause = h('button', { type: 'button', text: 'Pause', 'aria-pressed': 'false', on: { click() {
    isPaused = !isPaused;
    setText(pause, isPaused ? 'Continue' : 'Pause');
    pause.setAttribute('aria-pressed', String(isPaused));
    list.pause(isPaused);
  } } });
  const field = (name, label, props) => {
    const input = h('input', { id: `f-${name}`, autocomplete: 'off', spellcheck: 'false', ...props });
    input.value = params.get(name) ?? '';
    input.addEventListener('input', () => { setParams({ [name]: input.value.trim() }); read(); list.filter(); });
    return h('label', null, label, input);
  };
  const choice = (name, label, options) => {
    const select = h('select', { id: `f-${name}` }, Object.entries(options).map(([value, text]) => h('option', { value, text })));
    select.value = params.get(name) ?? '';
    if (select.selectedIndex < 0) select.value = '';
    select.addEventListener('change', () => { setParams({ [name]: select.value }); read(); list.filter(); });
    return h('label', null, label, select);
  };
  const methods = Object.fromEntries([['', 'every method'], ...methodNames.map(one => [one, one])]);
  const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Filter requests' },
    field('session', 'Session', { type: 'search' }), choice('status', 'Status', kinds), choice('method', 'Method', methods),
    field('target', 'Target has', { type: 'search' }),
    field('ms', 'Longer than, ms', { type: 'number', min: 0, inputmode: 'numeric' }), pause);
  form.addEventListener('submit', event => event.preventDefault());

  const stops = [
    live.subscribe('node.requests', (_, data) => list.add(data.requests, data.skipped)),
    live.onBreak(() => list.break()),
    state.on(what => {
      if (what === 'restart') list.clear();
      if (what !== 'info') return;
      // Which errors are refusals came just now.
      if (wanted.status === 'refused') list.filter();
      list.refresh();
    }),
  ];
  return {
    element: h('section', { 'aria-label': 'Live requests' }, form, status, list.element),
    close() { for (const stop of stops) stop(); list.close(); },
  };
}

export default { path: 'requests', title: 'Requests', order: 4, open };
