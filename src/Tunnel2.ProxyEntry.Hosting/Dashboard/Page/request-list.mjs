// A list of requests that stays fluid at any rate: only the visible rows exist, and they are drawn at most once a frame.
import { coalesce, h, setAttribute, setText } from './dom.mjs';
import { bytes, count, duration, errorWords, failureOf, isRefusal, time, visible, visibleBytes } from './format.mjs';

/** Requests that are kept; older ones are forgotten. */
const most = 5000;
const rowHeight = 30;
const columns = ['time', 'session', 'status', 'method', 'target', 'duration', 'in', 'out', 'reason'];

/** A request's target as text. What was no valid request may have none. */
const targetOf = request => `${visibleBytes(request.target) || '(none)'}${request.targetTruncated ? '…' : ''}`;

/**
 * Makes a list. `info()` gives the words for errors, `matches(request)` says what is shown, `onChange()` is called after a draw. `isWhole`:
 * every request is sent, so that their numbers say how many are missing.
 */
export function requestList({ info, matches, onChange = () => {}, tall = true, isWhole = true }) {
  let kept = [], shown = [], waiting = [], isPaused = false, isReading = false, skipped = 0, seen = new Set(), newest = -1, brokenAt = -1;
  const gaps = new Set();
  const isShown = one => one.missing !== undefined || matches(one);
  const rows = [];
  const body = h('div', { class: 'rows', role: 'presentation' });
  const head = h('div', { class: 'row head', role: 'row' },
    columns.map(name => h('span', { class: `c-${name}`, role: 'columnheader', text: name })));
  const view = h('div',
    { class: 'view', role: 'rowgroup', tabindex: 0, 'aria-label': 'Requests, the newest first; arrow keys scroll' }, body);
  const table = h('div', { class: 'requests', role: 'table', 'aria-label': 'Requests' }, h('div', { role: 'rowgroup' }, head), view);
  const empty = h('p', { class: 'empty' });
  const details = h('dialog', { 'aria-label': 'Request' });
  const element = h('div', { class: tall ? 'list tall' : 'list' }, table, empty, details);

  function makeRow() {
    const cells = Object.fromEntries(columns.map(name => [name, h('span', { class: `c-${name}`, role: 'cell' })]));
    const button = h('button', { type: 'button', class: 'target' });
    cells.target.append(button);
    const row = { cells, button, element: h('div', { class: 'row', role: 'row' }, Object.values(cells)), request: null };
    button.addEventListener('click', () => showDetails(row.request));
    return row;
  }

  function fill(row, request, index) {
    row.element.style.transform = `translateY(${index * rowHeight}px)`;
    setAttribute(row.element, 'aria-rowindex', index + 2);
    if (row.request === request) return;
    row.request = request;
    if (request.missing !== undefined) { fillGap(row, request); return; }
    row.button.disabled = false;
    const { cells } = row, failure = failureOf(request), refused = failure !== null && isRefusal(failure, info());
    row.element.className = `row${failure && !refused ? ' bad' : request.status >= 400 ? ' warn' : ''}`;
    setText(cells.time, time((request.startedUs + request.totalUs) / 1000, true));
    setText(cells.session, request.session === '-' ? '–' : visible(request.session, 60));
    setText(cells.status, request.status === 0 ? 'none' : String(request.status));
    setText(cells.method, request.method);
    setText(row.button, targetOf(request));
    setText(cells.duration, duration(request.totalUs));
    setText(cells.in, bytes(request.bytesIn));
    setText(cells.out, bytes(request.bytesOut));
    setText(cells.reason, failure ? `${refused ? '⊘' : '✕'} ${errorWords(failure, info()).title} (${failure})`
      : request.upgraded ? 'upgraded' : '');
  }

  function fillGap(row, { missing }) {
    const { cells } = row;
    row.element.className = 'row gap';
    for (const name of columns) if (name !== 'target') setText(cells[name], '');
    setText(row.button, missing > 0 ? `gap: up to ${count(missing)} requests are missing here` : 'gap: requests may be missing here');
    row.button.disabled = true;
  }

  const draw = coalesce(() => {
    if (!isPaused && !isReading && waiting.length > 0) take();
    const first = Math.max(0, Math.floor(view.scrollTop / rowHeight) - 4);
    const last = Math.min(shown.length, Math.ceil((view.scrollTop + view.clientHeight) / rowHeight) + 4);
    body.style.height = `${shown.length * rowHeight}px`;
    while (rows.length < last - first) { const row = makeRow(); rows.push(row); body.append(row.element); }
    rows.forEach((row, i) => {
      row.element.hidden = first + i >= last;
      if (!row.element.hidden) fill(row, shown[first + i], first + i);
    });
    setAttribute(table, 'aria-rowcount', shown.length + 1);
    empty.hidden = shown.length > 0;
    empty.textContent = kept.length > 0 ? 'No request here fits the filter.' : 'No request yet. The next one shows here at once.';
    onChange();
  });

  function take() {
    waiting.sort((one, other) => other.sequence - one.sequence);
    const added = waiting.filter(isShown);
    for (const one of waiting) if (one.missing !== undefined) gaps.add(one);
    // What was before may come after what the channel had kept.
    const isLate = kept.length > 0 && waiting.at(-1).sequence < kept[0].sequence;
    kept = waiting.concat(kept);
    waiting = [];
    if (isLate) kept.sort((one, other) => other.sequence - one.sequence);
    for (const old of kept.splice(most)) { seen.delete(old.sequence); gaps.delete(old); }
    // Added above what is read: what is in view stays there.
    if (view.scrollTop > rowHeight) view.scrollTop += added.length * rowHeight;
    shown = isLate ? kept.filter(isShown) : added.concat(shown);
    shown.length = Math.min(shown.length, most);
  }

  function showDetails(request) {
    const failure = failureOf(request), words = failure ? errorWords(failure, info()) : null;
    const entries = [
      ['Session', visible(request.session, 60)],
      ['Status', request.status === 0 ? 'none: no answer was sent' : request.status],
      ['Reason', words ? `${words.title} (${failure}). ${words.detail}` : null],
      ['Leg', words?.leg],
      ['Began', time(request.startedUs / 1000, true)],
      ['Waited for an uplink', duration(request.queueUs)],
      ['First byte after', request.firstByteUs ? duration(request.firstByteUs) : 'never'],
      ['Body took', duration(request.bodyUs)],
      ['In all', duration(request.totalUs)],
      ['Body in, out', `${bytes(request.bytesIn)}, ${bytes(request.bytesOut)}`],
      ['Uplink, stream', `${request.uplink}, ${request.stream}`],
      ['Number', count(request.sequence)],
    ].filter(([, value]) => value !== null && value !== undefined);
    const title = `${request.method} ${targetOf(request)}`;
    const classOf = name => name !== 'Reason' ? null : isRefusal(failure, info()) ? 'warn' : 'bad';
    details.replaceChildren(
      h('h2', null, h('bdi', { class: 'target', text: title })),
      h('dl', null, entries.map(([name, value]) =>
        [h('dt', { text: name }), h('dd', { text: value, class: classOf(name) })])),
      h('form', { method: 'dialog' }, h('button', { text: 'Close' })));
    details.showModal();
  }

  details.addEventListener('click', event => { if (event.target === details) details.close(); });
  view.addEventListener('scroll', draw);
  // A list that moves under a pointer or the focus cannot be read: it waits, and says so.
  body.addEventListener('focusin', () => { isReading = true; draw(); });
  body.addEventListener('focusout', ({ relatedTarget }) => {
    isReading = body.contains(relatedTarget) || details.contains(relatedTarget);
    draw();
  });
  details.addEventListener('close', () => { isReading = body.contains(document.activeElement); draw(); });
  view.addEventListener('keydown', event => { if (event.key === 'Escape') view.focus(); });
  const resized = new ResizeObserver(draw);
  resized.observe(view);

  return {
    element,
    /** Adds requests that are not in the list yet. */
    add(requests, left = 0) {
      skipped += left;
      for (const request of requests) {
        if (seen.has(request.sequence)) continue;
        // After a break the numbers say whether anything is missing before the first that comes. They come in their order.
        if (brokenAt >= 0 && request.sequence > brokenAt) {
          const missing = request.sequence - brokenAt - 1;
          if (missing > 0) waiting.push({ sequence: brokenAt + 0.5, missing: isWhole ? missing : 0 });
          brokenAt = -1;
        }
        newest = Math.max(newest, request.sequence);
        seen.add(request.sequence);
        waiting.push(request);
      }
      if (waiting.length > most) for (const old of waiting.splice(0, waiting.length - most)) seen.delete(old.sequence);
      draw();
    },
    /** Applies a changed filter. */
    filter() { shown = kept.filter(isShown); view.scrollTop = 0; draw(); },
    /** Requests may be missing after those that have come. */
    break() { if (newest >= 0) brokenAt = newest; },
    pause(value) { isPaused = value; draw(); },
    clear() { kept = []; shown = []; waiting = []; skipped = 0; seen = new Set(); newest = brokenAt = -1; gaps.clear(); draw(); },
    /** The numbers for the words above the list. */
    counts: () => ({ kept: kept.length - gaps.size, shown: shown.length - gaps.size, waiting: waiting.length, skipped, isReading }),
    /** Writes the rows again, because the words for errors have come. */
    refresh() { for (const row of rows) row.request = null; draw(); },
    close() { resized.disconnect(); draw.cancel(); },
  };
}
