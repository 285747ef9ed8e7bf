// All agents, with their uplinks and what their tier refused.
import { coalesce, h, setChildren, setText } from '../dom.mjs';
import { count, visible } from '../format.mjs';
import { agentFacts, uplinkTable } from '../agent-facts.mjs';

/** Agents on the page; the filter decides which. */
const most = 200;

/** What tells agents apart: those of a pool have one name. */
const keyOf = agent => agent.pool ? `${agent.session} ${agent.sessionId}` : agent.session;

/** What the filter looks at. */
const textOf = agent => `${agent.session} ${agent.identity ?? ''} ${agent.version ?? ''}`.toLowerCase();

function makeCard(name) {
  const facts = h('dl', { class: 'facts' }), uplinks = uplinkTable();
  const title = h('h2', null, h('a', { href: `#/session/${encodeURIComponent(name)}` }, h('bdi', { text: visible(name, 60) })));
  const element = h('article', { class: 'card' }, title, facts, uplinks.element);
  let drawn = '';
  return {
    element,
    draw(agent) {
      const pairs = agentFacts(agent), text = JSON.stringify([pairs, agent.uplinks]);
      if (text === drawn) return;
      drawn = text;
      facts.replaceChildren(...pairs.map(([key, value]) => h('div', null, h('dt', { text: key }), h('dd', { text: value }))));
      uplinks.draw(agent);
      element.className = agent.online ? 'card' : 'card off';
    },
  };
}

function open({ state, params, setParams }) {
  const cards = new Map(), list = h('div', { class: 'cards' }), words = h('p', { class: 'note' });
  const input = h('input', { type: 'search', id: 'f-filter', autocomplete: 'off', spellcheck: 'false' });
  input.value = params.get('filter') ?? '';
  input.addEventListener('input', () => { setParams({ filter: input.value.trim() }); draw(); });
  const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Filter agents' },
    h('label', null, 'Session, agent or version has', input));
  form.addEventListener('submit', event => event.preventDefault());

  function cardOf(agent) {
    let card = cards.get(keyOf(agent));
    if (!card) cards.set(keyOf(agent), card = makeCard(agent.session));
    card.draw(agent);
    return card.element;
  }

  function sentence(found) {
    if (!state.agentsAt) return '';
    if (state.allAgents.length === 0) return 'No agent is connected. Start one: tunnel2 http 3000';
    const unshown = found > most ? `; the first ${most} are shown, the filter finds the others` : '';
    const unsent = state.agentsLeft > 0 ? `; ${count(state.agentsLeft)} more are not sent` : '';
    return `${count(found)} of ${count(state.allAgents.length)} agents${unshown}${unsent}`;
  }

  const draw = coalesce(() => {
    const wanted = input.value.trim().toLowerCase();
    const all = state.allAgents.filter(one => textOf(one).includes(wanted))
      .sort((one, other) => Number(other.online) - Number(one.online) || (keyOf(one) < keyOf(other) ? -1 : 1));
    const present = new Set(state.allAgents.map(keyOf));
    for (const key of cards.keys()) if (!present.has(key)) cards.delete(key);
    setChildren(list, all.slice(0, most).map(cardOf));
    setText(words, sentence(all.length));
  });
  const stops = [state.watchAgents(), state.on(what => { if (what === 'agents' || what === 'restart') draw(); })];
  draw();
  return {
    element: h('section', { 'aria-label': 'Agents' }, form, words, list),
    close() { for (const stop of stops) stop(); draw.cancel(); },
  };
}

export default { path: 'agents', title: 'Agents', order: 3, open };
