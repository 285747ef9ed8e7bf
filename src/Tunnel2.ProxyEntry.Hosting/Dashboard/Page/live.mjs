// The connection to /live: subscribes, connects again by itself, and says what it does (docs/live.md, "Hub").

import { all, Numbers, pageChannelOf, wireOf, withNode } from './scope.mjs';

const base64url = text => btoa(String.fromCharCode(...new TextEncoder().encode(text)))
  .replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
const firstWait = 500, longestWait = 10000;

/** States: connecting, live, paused, waiting (for the next try), token (needed or wrong), refused. */
export class Live {
  #subscribers = new Map();
  #listeners = new Set();
  #breakListeners = new Set();
  #socket = null;
  #token = sessionStorage.getItem('tunnel2-token');
  #wait = firstWait;
  #timer = 0;
  #numbers = new Numbers();
  /** Which node's channels pages get: null, this server's; a node's name; `*`, those of all. */
  at = null;
  /** The state, its words, since when, and when the next try is. */
  state = { kind: 'connecting', text: 'connecting', since: Date.now(), next: 0 };
  /** Messages that this connection was too slow for. */
  dropped = 0;

  /** Calls `listener` with each new state. */
  onState(listener) { this.#listeners.add(listener); }

  /** Calls `listener` whenever messages may be missing from here on: skipped, paused, or the connection was lost. Returns how to stop. */
  onBreak(listener) { this.#breakListeners.add(listener); return () => this.#breakListeners.delete(listener); }

  /** Shows another node, or all. Pages are opened again by the caller. */
  show(at) {
    if (at === this.at) return;
    const before = [...this.#subscribers.keys()].map(channel => this.#wire(channel));
    this.at = at;
    this.#numbers = new Numbers();
    const after = [...this.#subscribers.keys()].map(channel => this.#wire(channel));
    for (const channel of before) if (!after.includes(channel)) this.#send({ op: 'unsubscribe', channel });
    for (const channel of after) if (!before.includes(channel)) this.#send({ op: 'subscribe', channel });
  }

  /**
   * Subscribes. `take(key, data, {channel, node, isSnapshot})` gets every message; a snapshot comes again after each new connection. A
   * channel that begins with `=` is this server's own, whatever is shown.
   */
  subscribe(channel, take) {
    let takers = this.#subscribers.get(channel);
    if (!takers) this.#subscribers.set(channel, takers = new Set());
    takers.add(take);
    this.#send({ op: 'subscribe', channel: this.#wire(channel) });
    return () => {
      takers.delete(take);
      if (takers.size === 0 && this.#subscribers.get(channel) === takers) {
        this.#subscribers.delete(channel);
        if (!this.#isWanted(this.#wire(channel))) this.#send({ op: 'unsubscribe', channel: this.#wire(channel) });
      }
    };
  }

  /** Connects with a token, which this tab keeps. */
  useToken(token) {
    sessionStorage.setItem('tunnel2-token', this.#token = token);
    this.connect();
  }

  /** Connects now. */
  connect() {
    clearTimeout(this.#timer);
    this.#socket?.close();
    const protocols = ['tunnel2.live.v1'];
    if (this.#token) protocols.push(`tunnel2.token.${base64url(this.#token)}`);
    const socket = this.#socket = new WebSocket(`${location.protocol === 'https:' ? 'wss:' : 'ws:'}//${location.host}/live`, protocols);
    let opened = false;
    if (this.state.kind !== 'waiting') this.#say('connecting', 'connecting');
    socket.onopen = () => {
      opened = true;
      this.#wait = firstWait;
      this.dropped = 0;
      this.#sayLive();
      for (const channel of this.#subscribers.keys()) this.#send({ op: 'subscribe', channel: this.#wire(channel) });
    };
    socket.onmessage = event => { if (socket === this.#socket) this.#take(JSON.parse(event.data)); };
    socket.onclose = () => { if (socket === this.#socket) this.#closed(opened); };
  }

  async #closed(opened) {
    this.#socket = null;
    if (opened) this.#break();
    if (!opened) {
      // A WebSocket does not say why it was refused.
      const answer = await fetch('/live').catch(() => null);
      if (this.#socket !== null) return;
      if (answer?.status === 401) { this.#say('token', this.#token ? 'The token is wrong.' : 'A token is needed: that of the setting Admin:Token.'); return; }
      if (answer?.status === 403 || answer?.status === 503 || answer?.status === 429) {
        this.#later('refused', (await answer.text()).trim(), Math.max(this.#wait, 1000 * Number(answer.headers.get('Retry-After') ?? 0)));
        return;
      }
    }
    this.#later('waiting', 'disconnected', this.#wait);
  }

  #later(kind, text, wait) {
    this.#wait = Math.min(this.#wait * 2, longestWait);
    // Pages that lost the same server do not all come back at the same moment.
    const after = wait * (0.75 + Math.random() / 2);
    this.#say(kind, text, Date.now() + after);
    this.#timer = setTimeout(() => this.connect(), after);
  }

  #send(message) { if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message)); }

  #say(kind, text, next = 0) {
    const since = kind === this.state.kind ? this.state.since : Date.now();
    this.state = { kind, text, since, next };
    for (const listener of this.#listeners) listener(this.state);
  }

  #take(message) {
    switch (message.type) {
      case 'snapshot':
        for (const { key, data } of message.messages) this.#give(message.channel, key, data, true);
        break;
      case 'message': this.#give(message.channel, message.key, message.data, false); break;
      case 'gap':
        this.dropped += message.dropped;
        this.#break();
        // A paused connection may lose answers too, and stays paused.
        if (this.state.kind !== 'paused') this.#sayLive();
        break;
      case 'paused':
        this.#break();
        this.#say('paused', 'paused by the server: it is short of memory or processors');
        break;
      case 'resumed': this.#sayLive(); break;
    }
  }

  #sayLive() { this.#say('live', this.dropped > 0 ? `live, ${this.dropped} messages skipped` : 'live'); }

  #break() { for (const listener of this.#breakListeners) listener(); }

  #wire(channel) { return channel.startsWith('=') ? channel.slice(1) : wireOf(channel, this.at); }

  #isWanted(wire) { return [...this.#subscribers.keys()].some(channel => this.#wire(channel) === wire); }

  #give(wire, key, value, isSnapshot) {
    const { channel, node } = pageChannelOf(wire, this.at);
    let data = value;
    if (this.at === all && node) {
      data = withNode(channel, value, node);
      if (channel === 'node.requests') data = this.#numbers.give(data, node);
    }
    for (const [pattern, takers] of this.#subscribers) {
      const isOwn = pattern.startsWith('=');
      if (isOwn ? pattern.slice(1) === wire : (pattern === channel || matches(pattern, channel)) && this.#isOf(channel, node)) {
        for (const take of takers) take(key, isOwn ? value : data, { channel, node, isSnapshot });
      }
    }
  }

  /** Whether pages want a node's own channel from where it came: not this server's while another one is shown. */
  #isOf(channel, node) { return !this.at || node !== null || !/^(node|session)\./.test(channel) || channel === 'node.stats'; }
}

function matches(pattern, channel) {
  if (!pattern.includes('*')) return false;
  const [wanted, parts] = [pattern.split('.'), channel.split('.')];
  return wanted.length === parts.length && wanted.every((part, i) => part === '*' || part === parts[i]);
}
