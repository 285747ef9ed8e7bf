// The whole node: now, the last fifteen minutes, and what it is made of.
import { coalesce, h, setText } from '../dom.mjs';
import { bytes, count, date, duration, errorWords, isRefusal, long, share, visible } from '../format.mjs';
import { chart } from '../chart.mjs';
import { rateCharts, tableBlock, tiles } from '../pieces.mjs';
import { alertItems } from './alerts.mjs';

const span = 15 * 60 * 1000;
const shortest = 60 * 1000;
const warnOfCertificate = 14 * 24 * 3600 * 1000;

const origins = { file: 'a file', folder: 'the folder', automatic: 'an authority, by itself', 'self-made': 'this server' };

/** Processors in use: a few hundredths are not none. */
const processors = value => value === null || value === undefined ? '–' : value.toFixed(2);

const mean = values => values?.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;

function processCharts() {
  return [
    chart({
      title: 'Round trip to agents', format: duration, least: 1000,
      series: [
        { name: 'mean', class: 's1', get: one => one.rttUs || null },
        { name: 'longest', class: 's3', get: one => one.rttMaxUs || null },
      ],
    }),
    chart({
      title: 'Streams', format: count, least: 10,
      series: [
        { name: 'open', class: 's1', get: one => one.streams ?? null },
        { name: 'waiting for an uplink', class: 's3', get: one => one.waiting ?? null },
      ],
    }),
    chart({
      title: 'Event loops, busy', format: share, most: 1,
      series: [
        { name: 'mean', class: 's1', get: one => mean(one.loops) },
        { name: 'busiest', class: 's3', get: one => one.loops?.length ? Math.max(...one.loops) : null },
      ],
    }),
    chart({
      title: 'Memory', format: bytes, least: 1e8,
      series: [
        { name: 'process', class: 's1', get: one => one.memoryBytes ?? null },
        { name: 'managed heap', class: 's2', get: one => one.heapBytes ?? null },
      ],
    }),
    chart({ title: 'Processors', format: processors, least: 1, series: [{ name: 'used', class: 's1', get: one => one.processors ?? null }] }),
  ];
}

/** Rows about the process, from the last reading. */
function healthRows(load, info) {
  const { guard } = load;
  const row = (name, now, limit = '', kind = null) => ({ kind, cells: [name, now, limit] });
  const calm = guard?.pausing ? 'guard: pausing' : 'guard: calm', kind = guard?.pausing ? 'bad' : null;
  return [
    row('Memory', bytes(load.memoryBytes)),
    row('Managed heap', bytes(load.heapBytes)),
    row('Processors used', processors(load.processors), info ? count(info.processors) : ''),
    row('Sent to agents, without credit back', bytes(load.outstanding)),
    row('Not read by visitors', bytes(load.heldBytes), bytes(load.heldLimit), load.heldBytes > load.heldLimit * 0.8 ? 'bad' : null),
    row('Stalled uplinks', count(load.stalled), count(load.uplinks), load.stalled > 0 ? 'bad' : null),
    row('Requests that wait for an agent', count(load.parked)),
    row('Requests missing from the statistics', count(load.missed), '', load.missed > 0 ? 'warn' : null),
    ...guard ? [
      row('Watchers', count(guard.connections), count(guard.most)),
      row('Slow watchers, paused', count(guard.paused), '', guard.paused > 0 ? 'warn' : null),
      row('Memory of the container', share(guard.memory), calm, kind),
      row('Processors of the container', share(guard.cpu), calm, kind),
    ] : [],
  ];
}

/** What is left of a certificate: to the day, and of many years the years. */
function days(ms) {
  const number = Math.floor(ms / (24 * 3600 * 1000));
  return number < 2 ? long(ms) : number < 800 ? `${number} days` : `${Math.floor(number / 365.25)} years`;
}

/** The certificates in use, the first to end first. */
function certificateRows(load, now) {
  return [...load.certificates].sort((one, other) => one.notAfterMs - other.notAfterMs).map(one => {
    const left = one.notAfterMs - now, isEarly = one.notBeforeMs > now;
    return {
      kind: left < 0 || isEarly ? 'bad' : left < warnOfCertificate ? 'warn' : null,
      cells: [visible(one.names || one.subject, 100), one.use, origins[one.origin] ?? one.origin, date(one.notAfterMs),
        left < 0 ? 'ended' : isEarly ? `valid from ${date(one.notBeforeMs)}` : days(left)],
    };
  });
}

/** The certificates that cannot be used, or that an authority does not give. */
function refusedRows(load, now) {
  return (load.refusedCertificates ?? []).map(one => {
    const again = !one.nextTryMs ? 'when its file changes' : one.nextTryMs > now ? `in ${long(one.nextTryMs - now)}` : 'now';
    return { kind: 'bad', cells: [visible(one.name, 100), one.use, again, visible(one.reason, 300) || 'The log has the reason.'] };
  });
}

/** How many a table leaves out. */
const moreWords = (number, words) => number > 0 ? `${count(number)} more${words}` : '';

/** Errors of all samples, the most frequent first. */
function errorRows(samples, info) {
  const codes = new Map();
  let requests = 0;
  for (const sample of samples) {
    requests += sample.requests;
    for (const [code, number] of Object.entries(sample.errorsByCode ?? {})) codes.set(code, (codes.get(code) ?? 0) + number);
  }
  return [...codes].sort((one, other) => other[1] - one[1]).map(([code, number]) => {
    const words = errorWords(code, info);
    return {
      kind: words.leg === 'visitor' || isRefusal(code, info) ? null : 'bad',
      cells: [words.title, words.leg, code, count(number), share(number / Math.max(requests, number))],
    };
  });
}

function open({ state }) {
  const now = tiles(['Requests/s', 'Errors/s', 'Median', 'p99', 'In/s', 'Out/s', 'Sessions', 'Open streams']);
  const charts = [...rateCharts(), ...processCharts()];
  const errors = tableBlock('Errors of 15 minutes, by leg and code', ['Error', 'Leg', 'Code', 'Count', 'Share'], 'No error in this time.');
  const loops = tableBlock(
    'Event loops', ['Loop', 'Busy'], 'The thread pool serves connections: there are no event loops to show.');
  const health = tableBlock('This process', ['What', 'Now', 'Limit'], 'Waiting for the first reading.');
  const certificates = tableBlock(
    'Certificates', ['Name', 'For', 'From', 'Ends', 'In'], 'No certificate: every listener is without TLS.');
  const refused = tableBlock('Certificates that are refused', ['Name', 'For', 'Tried again', 'Reason'], 'None.');
  certificates.element.classList.add('certificates');
  refused.element.classList.add('reasons');
  const moreCertificates = h('p', { class: 'note' }), moreRefused = h('p', { class: 'note' });
  certificates.element.append(moreCertificates);
  refused.element.append(moreRefused);
  refused.element.hidden = true;
  const problems = h('ul', { class: 'alerts', hidden: true });
  let drawnAlerts = '';

  function drawTiles() {
    const one = state.present(), load = state.isLive ? state.load : null, isTimed = one.requests > 0;
    now.draw([
      count(one.requests), [count(one.errors), one.errors > 0], duration(isTimed ? one.p50Us : null), duration(isTimed ? one.p99Us : null),
      bytes(one.bytesIn), bytes(one.bytesOut), count(load?.sessions), count(load?.streams),
    ]);
  }

  function drawAlerts() {
    // A list that did not change keeps the focus on its links.
    const text = JSON.stringify([state.alerts, state.info?.process]);
    if (text === drawnAlerts) return;
    drawnAlerts = text;
    problems.replaceChildren(...alertItems(state));
    problems.hidden = state.alerts.length === 0;
  }

  const draw = coalesce(() => {
    const to = state.now(), { load } = state;
    const samples = state.history.map(sample => ({ ...sample, t: sample.startMs }));
    drawTiles();
    drawAlerts();
    // A server that has just begun has no quarter of an hour to show.
    const from = Math.max(to - span, Math.min(samples[0]?.t ?? to, to - shortest));
    for (const each of charts) each.draw(samples, from, to);
    if (state.info) errors.draw(errorRows(samples, state.info));
    if (load) {
      loops.draw(load.loops.map((one, i) => ({ kind: one >= 0.95 ? 'bad' : null, cells: [String(i), share(one)] })));
      health.draw(healthRows(load, state.info));
      certificates.draw(certificateRows(load, to));
      setText(moreCertificates, moreWords(load.certificateCount - load.certificates.length, ', which end later.'));
      refused.draw(refusedRows(load, to));
      refused.element.hidden = !load.refusedCount;
      setText(moreRefused, moreWords(load.refusedCount - load.refusedCertificates?.length, '; the log has them.'));
    }
  });
  // Also without a message: time passes.
  const timer = setInterval(draw, 2000);
  const stop = state.on(what => { if (what !== 'rates' && what !== 'agents') draw(); });
  draw();
  return {
    element: h('div', null, problems,
      h('section', { 'aria-label': 'Now' }, now.element),
      h('section', { class: 'charts', 'aria-label': 'The last 15 minutes' }, charts.map(each => each.element)),
      h('div', { class: 'blocks' }, errors.element, loops.element, certificates.element, refused.element, health.element)),
    close() { clearInterval(timer); stop(); draw.cancel(); },
  };
}

export default { path: '', title: 'Node', order: 0, open };
