// All nodes of a cluster: the sums, and a row for each node.
import { coalesce, h, setText } from '../dom.mjs';
import { bytes, count, duration, time, visible } from '../format.mjs';
import { tableBlock, tiles } from '../pieces.mjs';
import { alertItems } from './alerts.mjs';

/** A node of which nothing was heard for this long is lost, also where this page has not been told. */
const silence = 10000;

const heads = ['Node', 'State', 'Requests/s', 'Errors/s', 'p50', 'p99', 'In/s', 'Out/s', 'Sessions', 'Uplinks', 'Streams', 'Version'];

const words = { up: 'up', lost: 'lost', connecting: 'connecting', older: 'no live view (older release)' };

/** A node's state in words, with what is wrong. */
function stateWords(node) {
  const text = words[node.state] ?? visible(node.state, 40);
  if (node.state === 'lost') return `lost since ${time(node.sinceMs, true)}${node.problem ? `: ${visible(node.problem, 100)}` : ''}`;
  if (node.trouble) return `${text}, ${visible(node.trouble, 100)}`;
  return node.skipped > 0 ? `${text}, ${count(node.skipped)} messages skipped` : text;
}

function rowOf(node) {
  const { last } = node, isKnown = node.state === 'up' || node.state === 'lost', isTimed = isKnown && last.requests > 0;
  // What is known of a lost node is from before: it is in no sum, and says so.
  const mark = text => !isKnown ? '–' : node.state === 'lost' ? `(${text})` : text;
  return {
    kind: node.state === 'lost' ? 'bad' : node.state !== 'up' || node.trouble ? 'warn' : null,
    cells: [
      visible(node.node, 40) + (node.here ? ' (this one)' : ''), stateWords(node),
      mark(count(last.requests)), mark(count(last.errors)), mark(duration(isTimed ? last.p50Us : null)),
      mark(duration(isTimed ? last.p99Us : null)), mark(bytes(last.bytesIn)), mark(bytes(last.bytesOut)),
      mark(count(node.sessions)), mark(count(node.uplinks)), mark(count(node.streams)), visible((node.version ?? '').split('+')[0], 40),
    ],
  };
}

function open({ live, state }) {
  const nodes = new Map();
  const now = tiles(['Requests/s', 'Errors/s', 'Median', 'p95', 'p99', 'In/s', 'Out/s', 'Sessions', 'Nodes']);
  const table = tableBlock('Nodes', heads, 'Waiting for the nodes.');
  const problems = h('ul', { class: 'alerts', hidden: true }), note = h('p', { class: 'note', role: 'status' });
  table.element.classList.add('nodes');
  let drawnAlerts = '', heard = 0;

  function drawAlerts() {
    const text = JSON.stringify(state.alerts);
    if (text === drawnAlerts) return;
    drawnAlerts = text;
    problems.replaceChildren(...alertItems(state));
    problems.hidden = state.alerts.length === 0;
  }

  const draw = coalesce(() => {
    const all = [...nodes.values()].sort((one, other) => (one.node < other.node ? -1 : 1));
    const up = all.filter(one => one.state === 'up'), one = state.present(), isTimed = one.requests > 0;
    const isFollowed = state.isLive && Date.now() - heard < silence;
    now.draw([
      count(one.requests), [count(one.errors), one.errors > 0], duration(isTimed ? one.p50Us : null), duration(isTimed ? one.p95Us : null),
      duration(isTimed ? one.p99Us : null), bytes(one.bytesIn), bytes(one.bytesOut),
      count(isFollowed ? up.reduce((sum, node) => sum + node.sessions, 0) : null),
      [isFollowed ? `${up.length} of ${all.length}` : '–', isFollowed && up.length < all.length],
    ]);
    table.draw(all.map(rowOf));
    setText(note, up.length < all.length && isFollowed
      ? 'The sums are of the nodes that are up. Values in parentheses are the last ones of a node that is lost.' : '');
    drawAlerts();
  });
  const stops = [
    live.subscribe('cluster.nodes', (key, data) => { nodes.set(key, data); heard = Date.now(); draw(); }),
    state.on(what => { if (what === 'second' || what === 'alerts' || what === 'info' || what === 'connection') draw(); }),
  ];
  const timer = setInterval(draw, 2000);
  draw();
  return {
    element: h('div', null, problems, h('section', { 'aria-label': 'Now' }, now.element), note, table.element),
    close() { clearInterval(timer); for (const stop of stops) stop(); draw.cancel(); },
  };
}

export default { path: '', title: 'Cluster', order: 0.5, isOfCluster: true, open };
