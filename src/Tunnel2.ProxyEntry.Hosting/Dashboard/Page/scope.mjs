// Which node of a cluster the pages show. Pages name the channels of one node; here they become those of the chosen nodes, and what comes
// from several is told apart: a session at node n2 is web@n2.

/** All nodes. */
export const all = '*';

/** `web@n2` as name and node. */
export const splitSession = name => { const [first, node] = String(name).split('@'); return { name: first, node: node ?? null }; };

/** The channel to subscribe to for a page's channel. */
export function wireOf(channel, at) {
  const session = /^session\.([^.@]+)@([^.]+)\.(.+)$/.exec(channel);
  if (session) return `at.${session[2]}.session.${session[1]}.${session[3]}`;
  if (!at || !/^(node|session)\./.test(channel)) return channel;
  return at === all && channel === 'node.stats' ? 'cluster.stats' : `at.${at}.${channel}`;
}

/** A channel as the pages know it, and the node that it is of; null for the server's own. */
export function pageChannelOf(wire, at) {
  if (wire === 'cluster.stats') return { channel: at === all ? 'node.stats' : wire, node: null };
  const [, node, channel] = /^at\.([^.]+)\.(.+)$/.exec(wire) ?? [];
  if (!node) return { channel: wire, node: null };
  const [, name, rest] = /^session\.([^.]+)\.(.+)$/.exec(channel) ?? [];
  return { channel: name && at !== node ? `session.${name}@${node}.${rest}` : channel, node };
}

/** Puts the node to the names of sessions in what all nodes send. */
export function withNode(channel, data, node) {
  const named = one => ({ ...one, session: one.session === '-' ? one.session : `${one.session}@${node}` });
  switch (channel) {
    case 'node.sessions': return { ...data, sessions: data.sessions.map(named) };
    case 'node.agents': return { ...data, agents: data.agents.map(named) };
    case 'node.requests': return { ...data, requests: data.requests.map(named) };
    case 'node.alerts': return { ...data, alerts: data.alerts.map(one => /^(failing|offline)$/.test(one.kind)
      ? { ...one, subject: `${one.subject}@${node}` } : { ...one, node }) };
    default: return data;
  }
}

/**
 * Numbers for the requests of several nodes, of which each counts for itself: those that came before are left out, and the others have the
 * order in which they come.
 */
export class Numbers {
  #last = new Map();
  #next = 0;

  /** A batch of a node, without what it has sent before. */
  give(data, node) {
    const last = this.#last.get(node) ?? -1, highest = Math.max(-1, ...data.requests.map(one => one.sequence));
    // A node that was started again counts from the beginning.
    const from = highest < last - 100000 ? -1 : last;
    this.#last.set(node, Math.max(from, highest));
    return { ...data, requests: data.requests.filter(one => one.sequence > from).map(one => ({ ...one, sequence: this.#next++ })) };
  }
}
