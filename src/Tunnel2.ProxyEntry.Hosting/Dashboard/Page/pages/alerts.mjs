// What a person should look at, in sentences.
import { coalesce, h, setAttribute, setText } from '../dom.mjs';
import { alertWords, errorWords, visible } from '../format.mjs';

const severe = new Set(['failing', 'not-ready', 'loop', 'memory']);

/** The alerts as list items; the detail says what can be done. */
export function alertItems(state) {
  return state.alerts.map(alert => h('li', { class: severe.has(alert.kind) ? 'bad' : 'warn' },
    h('strong', { text: severe.has(alert.kind) ? 'Problem: ' : 'Notice: ' }), alert.node ? `${visible(alert.node, 40)}: ` : null,
    alertWords(alert, state.info),
    alert.kind === 'failing' ? h('span', { class: 'note', text: ` ${errorWords(alert.code, state.info).detail}` }) : null,
    alert.subject && (alert.kind === 'failing' || alert.kind === 'offline')
      ? h('a', {
        href: `#/session/${encodeURIComponent(alert.subject)}`, text: 'Show the session', 'aria-label': `Show the session ${alert.subject}`,
      })
      : null));
}

function open({ state }) {
  const list = h('ul', { class: 'alerts' });
  const words = h('p', { class: 'note', role: 'status' });
  let drawn = '';
  const draw = coalesce(() => {
    // A list that did not change keeps the focus on its links.
    const text = JSON.stringify([state.alerts, state.info?.process]);
    if (text === drawn) return;
    drawn = text;
    list.replaceChildren(...alertItems(state));
    setAttribute(list, 'hidden', state.alerts.length === 0 ? '' : null);
    setText(words, !state.info ? 'Waiting for the server.'
      : state.alerts.length === 0 ? 'All is well: nothing needs a look.'
      : state.moreAlerts > 0 ? `${state.moreAlerts} more are not shown.` : '');
  });
  const stop = state.on(draw);
  draw();
  return { element: h('section', { 'aria-label': 'Alerts' }, words, list), close() { stop(); draw.cancel(); } };
}

export default { path: 'alerts', title: 'Alerts', order: 5, open };
