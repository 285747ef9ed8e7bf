// What is known of an agent and its uplinks, for the pages that show it.
import { h } from './dom.mjs';
import { bytes, count, duration, long, time, visible } from './format.mjs';
import { caption, scroll, tableHead } from './pieces.mjs';

/** Who may visit, in words. */
function visitorWords(access) {
  if (!access) return 'everyone';
  const words = { login: 'who logs in', token: 'who has a token', signIn: 'who signs in', addresses: 'from some addresses' };
  return Object.keys(words).filter(key => access[key]).map(key => words[key]).join(', ') || 'by rules';
}

/** A tier's limits, in words. */
function tierWords({ tier, perSecond, burst }) {
  const unit = perSecond === 1 ? 'request/s' : 'requests/s';
  return tier ? `${visible(tier, 60)}: ${count(perSecond)} ${unit}, burst ${count(burst)}` : 'no limit';
}

/** A member's place in the pool of its name, in words. */
function poolWords({ members, healthy, spared, share }) {
  const state = !healthy ? 'its service does not work' : spared ? 'spared, its service took no connection'
    : share < 100 ? `starting slowly, at ${count(share)} % of its share` : 'serving';
  return `one of ${count(members)}, ${state}`;
}

/** The URLs of a tunnel, a link each where a browser can follow it: not those of TCP, nor of a wildcard. */
export function urlLinks(agent) {
  return (agent?.urls ?? []).map(url => /^https?:\/\/[^*]+$/.test(url)
    ? h('a', { href: url, target: '_blank', rel: 'noreferrer' }, h('bdi', { text: visible(url, 120) }))
    : h('bdi', { text: visible(url, 120) }));
}

const uplinkColumns = ['Uplink', 'From', 'Round trip', 'Streams', 'Waiting', 'Without credit', 'Sent', 'Received', 'State'];

/** The facts of an agent, as pairs of a name and a text. */
export function agentFacts(agent) {
  if (!agent) return [];
  if (!agent.online) {
    return [['State', 'away'], ['Last seen', `${time(agent.lastSeenMs, true)}, ${long(Date.now() - agent.lastSeenMs)} ago`]];
  }
  const trips = agent.uplinks.map(one => one.rttUs).filter(one => one > 0);
  return [
    ['State', agent.leaving ? 'leaving' : 'connected'], ['Agent', visible(agent.identity, 100)], ['Version', visible(agent.version, 60)],
    ['Connected for', long(Date.now() - agent.sinceMs)], ['Last seen', 'now'], ['Session id', agent.sessionId],
    ...agent.pool ? [['Pool', poolWords(agent.pool)]] : [],
    ['Uplinks', count(agent.uplinks.length)], ['Round trip', trips.length ? duration(Math.max(...trips)) : '–'],
    ['Tier', tierWords(agent)],
    ['Refused by the tier', agent.tier ? count(agent.refused) : '–'],
    ['Who may visit', visitorWords(agent.access)], ['Refused by rules', agent.access ? count(agent.access.refused) : '–'],
  ];
}

function uplinkRow(one) {
  const numbers = [
    one.rttUs > 0 ? duration(one.rttUs) : '–', count(one.streams), count(one.waiting), bytes(one.outstanding), bytes(one.sent),
    bytes(one.received), one.stalled ? 'stalled' : 'open',
  ];
  return h('tr', { class: one.stalled ? 'bad' : null },
    h('th', { scope: 'row', text: String(one.slot) }),
    h('td', { class: 'left' }, h('bdi', { text: visible(one.remote, 60) })),
    numbers.map(text => h('td', { text })));
}

/** The uplinks of one agent. Its table stays where it is while the rows change, so the focus stays too. */
export function uplinkTable() {
  const element = h('div'), body = h('tbody');
  return {
    element,
    draw(agent) {
      if (!agent?.online) {
        element.replaceChildren();
        return;
      }
      body.replaceChildren(...agent.uplinks.map(uplinkRow));
      if (!element.firstChild) {
        const title = `Uplinks of ${agent.session}`;
        element.append(scroll(title, h('table', null, caption(title), tableHead(uplinkColumns, 2), body)));
      }
    },
  };
}
