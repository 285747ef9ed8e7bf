// One session: its rates of fifteen minutes, its agent, its errors and its last requests.
import { coalesce, h, setText } from '../dom.mjs';
import { bytes, count, duration, errorWords, isRefusal, share, visible } from '../format.mjs';
import { agentFacts, uplinkTable, urlLinks } from '../agent-facts.mjs';
import { inspectionBlock } from '../inspection.mjs';
import { rateCharts, tiles } from '../pieces.mjs';
import { requestList } from '../request-list.mjs';
import { splitSession } from '../scope.mjs';

const span = 15 * 60 * 1000;
/** How much of it is shown in seconds, where they were followed. */
const fine = 5 * 60 * 1000;
const shortest = 60 * 1000;
const nothing = { requests: 0, errors: 0, bytesIn: 0, bytesOut: 0 };
const block = 10 * 1000;

/**
 * The times that a page knows: what the server has kept, ten seconds each; the seconds with requests, which are sent; and those without, in
 * which the page was connected.
 */
class Times {
  #kept = new Map();
  #known = new Map();
  #followed = [];

  /** A second with requests. */
  add(data) {
    const t = Math.round(data.startUs / 1000);
    this.#known.set(t, { ...data, t, seconds: 1 });
  }

  /** Ten seconds that the server has kept. */
  keep(sample) { this.#kept.set(sample.startMs, { ...sample, t: sample.startMs }); }

  /** Once a second: whether the page is connected. What it was told is complete until two seconds ago. */
  follow(isLive, now) {
    let last = this.#followed.at(-1);
    if (!isLive) {
      this.break();
      return;
    }
    if (!last || last.isOver) this.#followed.push(last = { from: now, to: now, isOver: false });
    last.to = Math.max(last.to, now - 2000);
    while (this.#followed.length > 50) this.#followed.shift();
  }

  /** Messages may be missing from here on. */
  break() {
    const last = this.#followed.at(-1);
    if (last) last.isOver = true;
  }

  /** The newest, or null when no request ended lately. */
  newest(now) {
    const newest = [...this.#known.values()].at(-1);
    return newest && now - newest.t < 3500 ? newest : null;
  }

  /** All within the span, the oldest first. */
  samples(now) {
    for (const times of [this.#kept, this.#known]) {
      for (const start of times.keys()) if (start < now - span - block) times.delete(start);
    }
    const samples = [], end = now - 1000;
    for (let from = Math.floor((now - span) / block) * block; from < end; from += block) {
      const kept = this.#kept.get(from);
      if (kept && (from < now - fine || !this.#wasFollowed(from, from + block - 1000))) {
        samples.push(kept);
        continue;
      }
      for (let t = from; t < Math.min(from + block, end); t += 1000) {
        const known = this.#known.get(t);
        if (known) samples.push(known);
        else if (this.#wasFollowed(t, t)) samples.push({ ...nothing, t, seconds: 1 });
      }
    }
    return samples;
  }

  #wasFollowed(first, last) { return this.#followed.some(({ from, to }) => first >= from && last <= to); }
}

/** Errors by code, the most frequent first, and the number of requests. */
function errorsOf(samples) {
  const codes = new Map();
  let requests = 0;
  for (const sample of samples) {
    requests += sample.requests;
    for (const [code, number] of Object.entries(sample.errorsByCode ?? {})) codes.set(code, (codes.get(code) ?? 0) + number);
  }
  return { requests, codes: [...codes].sort((one, other) => other[1] - one[1]).slice(0, 10) };
}

function errorItem([code, number], requests, info) {
  const words = errorWords(code, info);
  return h('li', { class: words.leg === 'visitor' || isRefusal(code, info) ? 'warn' : 'bad' },
    h('strong', { text: `${count(number)} × ${words.title}` }),
    ` (${code}, ${words.leg}; ${share(number / Math.max(requests, number))}). `,
    h('span', { class: 'note', text: words.detail }));
}

function open({ live, state, rest }) {
  const name = rest[0] ?? '', isName = /^[a-z0-9-]{1,63}(@[a-z0-9~-]{1,40})?$/.test(name);
  const times = new Times();
  const now = tiles(['Requests/s', 'Errors/s', 'Median', 'p95', 'p99', 'In/s', 'Out/s']);
  const charts = rateCharts();
  const urls = h('p', { class: 'urls', hidden: true });
  const words = h('p', { class: 'note', role: 'status' }), listNote = h('p', { class: 'note' });
  const inspection = isName ? inspectionBlock(splitSession(name).name, () => live.state.kind === 'live') : null;
  const facts = h('dl', { class: 'facts' }), uplinks = uplinkTable(), errors = h('ul', { class: 'alerts', hidden: true });
  const list = requestList({
    info: () => state.info, matches: () => true, tall: false, isWhole: false,
    onChange() {
      const { skipped, waiting, isReading } = list.counts();
      setText(listNote, [
        waiting > 0 && isReading ? `${count(waiting)} new, not shown while you read.` : '',
        skipped > 0 ? `${count(skipped)} more were too many to show; tunnel2 tap has them all.` : '',
      ].join(' ').trim());
    },
  });
  const agentBlock = h('section', { class: 'block', hidden: true }, h('h2', { text: 'Agent' }), facts, uplinks.element);
  let factsDrawn = '', errorsDrawn = '';

  function drawErrors(samples) {
    const { codes, requests } = errorsOf(samples), text = JSON.stringify([codes, requests, state.info?.process]);
    if (text === errorsDrawn) return;
    errorsDrawn = text;
    errors.hidden = codes.length === 0;
    errors.replaceChildren(...codes.map(one => errorItem(one, requests, state.info)));
  }

  /** Nothing is known of the present of a name that no agent has. */
  const isAbsent = () => !isName || (state.agentsAt > 0 && !state.agents.has(name) && state.agentsLeft === 0);

  function drawAgent() {
    const agent = state.agents.get(name), pairs = agentFacts(agent), text = JSON.stringify([pairs, agent?.uplinks, agent?.urls]);
    setText(words, !isName ? 'This is not the name of a session.' : isAbsent() ? 'No agent with this name is connected.' : '');
    if (text === factsDrawn) return;
    factsDrawn = text;
    // Only those of HTTP can be inspected.
    if (inspection) inspection.element.hidden = agent?.urls?.length > 0 && !agent.urls.some(url => url.startsWith('http'));
    agentBlock.hidden = pairs.length === 0;
    const links = urlLinks(agent);
    urls.replaceChildren(h('span', { class: 'note', text: 'Public URL' }), ...links);
    urls.hidden = links.length === 0;
    facts.replaceChildren(...pairs.map(([key, value]) => h('div', null, h('dt', { text: key }), h('dd', { text: value }))));
    uplinks.draw(agent);
  }

  const draw = coalesce(() => {
    const to = state.now(), one = state.isLive && !isAbsent() ? times.newest(to) ?? nothing : {}, samples = times.samples(to);
    now.draw([
      count(one.requests), [count(one.errors), one.errors > 0], duration(one.p50Us), duration(one.p95Us), duration(one.p99Us),
      bytes(one.bytesIn), bytes(one.bytesOut),
    ]);
    const from = Math.max(to - span, Math.min(samples[0]?.t ?? to, to - shortest));
    for (const each of charts) each.draw(samples, from, to);
    drawErrors(samples);
    drawAgent();
  });
  const timer = setInterval(() => { times.follow(state.isLive, state.now()); draw(); }, 1000);
  const stops = isName ? [
    live.subscribe(`session.${name}.stats`, (key, data, { isSnapshot }) => {
      // A snapshot has the last second with requests, of any age.
      if (key !== '1s' || (isSnapshot && state.now() - data.startUs / 1000 > span)) return;
      times.add(data);
      draw();
    }),
    live.subscribe(`session.${name}.history`, (_, data) => {
      for (const sample of data.samples ?? [data]) times.keep(sample);
      draw();
    }),
    live.onBreak(() => { times.break(); list.break(); }),
    live.subscribe(`session.${name}.requests`, (_, data) => list.add([data], data.skipped)),
    state.watchAgents(),
    state.on(what => {
      if (what === 'restart') list.clear();
      if (what === 'info') list.refresh();
      if (what === 'agents' || what === 'info' || what === 'connection') draw();
    }),
  ] : [];
  times.follow(state.isLive, state.now());
  draw();
  return {
    element: h('div', null, urls, words,
      h('section', { 'aria-label': 'Now' }, now.element), errors,
      h('section', { class: 'charts', 'aria-label': 'The last 15 minutes' }, charts.map(each => each.element)),
      agentBlock,
      inspection?.element,
      h('section', { 'aria-label': 'Last requests' }, h('h2', { text: 'Last requests' }), listNote, list.element)),
    close() { inspection?.close(); clearInterval(timer); for (const stop of stops) stop(); list.close(); draw.cancel(); },
  };
}

export default {
  path: 'session', parent: 'sessions', title: 'Session', heading: rest => `Session ${visible(rest[0] ?? '', 60)}`, order: 2, open,
};
