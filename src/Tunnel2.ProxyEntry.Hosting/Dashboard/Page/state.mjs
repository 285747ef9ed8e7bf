// What all pages share: the last message of the node's channels, fifteen minutes of history, and the sessions' last minute.

import { all } from './scope.mjs';

const historyMs = 15 * 60 * 1000;
const sparkSeconds = 60;
/** Sessions whose last minute is asked for at once. The server has an end of them too. */
const mostFilled = 40;
/** How many more are asked for in each second: two messages each, of ten that the server takes. */
const filledPerSecond = 3;

export class State {
  #live;
  #nodeAlerts = new Map();
  #nodeAgents = new Map();
  #offset = 0;
  #listeners = new Set();
  #filled = new Map();
  #mayFill = mostFilled;
  #fillAt = 0;
  /** The server: build, version, words for errors; null before the first message. */
  info = null;
  /** This node of a cluster; null where there is none. */
  self = null;
  /** Samples of five seconds, the oldest first. */
  history = [];
  /** The last second, or null when no request ended in it. */
  second = null;
  /** The last reading of the process. */
  load = null;
  alerts = [];
  moreAlerts = 0;
  agents = new Map();
  /** All of them: agents that share a name are several. */
  allAgents = [];
  agentsLeft = 0;
  /** When they came last, by this machine's clock; 0: never. */
  agentsAt = 0;
  /** Sessions by name: the last second's rates, and the requests of the last minute. */
  rates = new Map();
  /** Since when the rates are followed without a gap, and until when where they are not followed now, s since 1970. */
  ratesFrom = 0;
  ratesTo = 0;

  constructor(live) {
    this.#live = live;
    live.onState(({ kind }) => {
      if (kind === 'live') { this.ratesFrom = this.now() / 1000; this.ratesTo = Infinity; }
      else if (this.ratesTo === Infinity) this.ratesTo = this.now() / 1000 - 2;
      this.#changed('connection');
    });
    live.subscribe('node.info', (_, data) => this.#server(data));
    live.subscribe('node.alerts', (_, data, { node }) => {
      this.#nodeAlerts.set(node, data);
      this.alerts = [...this.#nodeAlerts.values()].flatMap(one => one.alerts);
      this.moreAlerts = [...this.#nodeAlerts.values()].reduce((sum, one) => sum + one.more, 0);
      this.#changed('alerts');
    });
    live.subscribe('cluster.info', (_, data) => { this.self = data.node; this.#changed('cluster'); });
    live.subscribe('node.history', (_, data) => { if (live.at !== all) this.#sample(data); });
    live.subscribe('node.load', (_, data, { isSnapshot }) => {
      // Of all nodes together there is no load: the page of the cluster has theirs.
      if (isSnapshot || live.at === all) return;
      this.load = data;
      this.#offset = data.atMs - Date.now();
      this.#changed('load');
    });
    live.subscribe('node.stats', (key, data, { isSnapshot }) => {
      // A snapshot may be of any age: only what comes while the page looks is the present.
      if (key === '1s' && !isSnapshot) { this.second = data; this.secondAt = Date.now(); this.#changed('second'); }
    });
  }

  /** Calls `listener(what)` after a change: connection, info, restart, history, second, load, alerts, agents, rates. */
  on(listener) { this.#listeners.add(listener); return () => this.#listeners.delete(listener); }

  /** Another node is shown: what is known is of the one before. */
  clear() {
    this.info = this.second = this.load = null;
    this.history = [];
    [this.alerts, this.moreAlerts, this.allAgents, this.agentsLeft, this.agentsAt] = [[], 0, [], 0, 0];
    for (const map of [this.rates, this.agents, this.#nodeAlerts, this.#nodeAgents]) map.clear();
    this.endSparks();
    this.#changed('alerts');
  }

  /** The server's time, ms since 1970: its clock may be another than this machine's. */
  now() { return Date.now() + (Math.abs(this.#offset) > 5000 ? this.#offset : 0); }

  /** Whether messages come: without them nothing is known of the present. */
  get isLive() { return this.#live.state.kind === 'live'; }

  /** The last second's statistics, or zeros: a second without requests is not sent. Nothing while no messages come. */
  present() {
    if (!this.isLive) return {};
    const isFresh = this.second && Date.now() - this.secondAt < 2500;
    return isFresh ? this.second : { requests: 0, errors: 0, bytesIn: 0, bytesOut: 0 };
  }

  /** Whether a second, s since 1970, without a message had no request: only where it was followed. */
  wasFollowed(second) { return second >= this.ratesFrom && second < this.ratesTo; }

  /** Follows all sessions' rates while a page shows them. Of the time before, nothing is known. */
  watchRates() {
    this.ratesFrom = this.now() / 1000;
    return this.#live.subscribe('node.sessions', (_, data, { isSnapshot }) => {
      if (isSnapshot) return;
      const second = Math.round(data.startMs / 1000);
      for (const one of data.sessions) {
        const rate = this.rateOf(one.session);
        rate.last = one;
        rate.at = Date.now();
        rate.spark.set(second, one.requests);
        for (const old of rate.spark.keys()) if (old <= second - sparkSeconds) rate.spark.delete(old);
      }
      this.ratesLeft = data.left;
      this.#changed('rates');
    });
  }

  /** Follows all agents while a page shows them. */
  watchAgents() {
    return this.#live.subscribe('node.agents', (_, data, { isSnapshot, node }) => {
      if (isSnapshot && this.agents.size > 0) return;
      this.#nodeAgents.set(node, data);
      this.allAgents = [...this.#nodeAgents.values()].flatMap(one => one.agents);
      // The first of those that share a name stands for it.
      this.agents = new Map(this.allAgents.toReversed().map(one => [one.session, one]));
      this.agentsLeft = [...this.#nodeAgents.values()].reduce((sum, one) => sum + one.left, 0);
      this.agentsAt = Date.now();
      for (const name of this.rates.keys()) if (!this.agents.has(name)) this.rates.delete(name);
      this.#changed('agents');
    });
  }

  /**
   * The requests of the last minute before a session's rates were followed, as far as the server has kept them. Only for sessions in view:
   * it is a subscription of its own, until what was kept meets what is followed.
   */
  fillSpark(name) {
    const now = Date.now();
    this.#mayFill = Math.min(mostFilled, this.#mayFill + (now - this.#fillAt) * filledPerSecond / 1000);
    this.#fillAt = now;
    if (this.#filled.has(name) || this.#mayFill < 1) return;
    if ([...this.#filled.values()].filter(one => one !== null).length >= mostFilled) return;
    this.#mayFill--;
    const from = this.ratesFrom;
    const stop = this.#live.subscribe(`session.${name}.history`, (_, data) => {
      const { spark } = this.rateOf(name), first = this.now() / 1000 - sparkSeconds - 10;
      let isMet = false;
      for (const { startMs, seconds, requests } of data.samples ?? [data]) {
        const start = Math.round(startMs / 1000), end = start + seconds;
        isMet ||= end >= from;
        for (let second = Math.max(start, Math.ceil(first)); second < Math.min(end, from); second++) {
          if (!spark.has(second)) spark.set(second, requests / seconds);
        }
      }
      // Its place is free for another one.
      if (isMet) { this.#filled.get(name)?.(); this.#filled.set(name, null); }
      this.#changed('rates');
    });
    this.#filled.set(name, stop);
  }

  /** The page that shows sparklines has gone. */
  endSparks() {
    for (const stop of this.#filled.values()) stop?.();
    this.#filled.clear();
  }

  /** A session's rates; made when it has none. */
  rateOf(name) {
    let rate = this.rates.get(name);
    if (!rate) this.rates.set(name, rate = { last: null, at: 0, spark: new Map() });
    return rate;
  }

  /** The rates of the last second, or null when the session had no request in it. */
  static fresh(rate) { return rate?.last && Date.now() - rate.at < 2500 ? rate.last : null; }

  #server(info) {
    const isRestart = this.#live.at !== all && this.info !== null && this.info.process !== info.process;
    this.info = info;
    if (isRestart) { this.second = this.load = null; this.rates.clear(); this.agents.clear(); this.allAgents = []; this.#changed('restart'); }
    this.#changed('info');
  }

  #sample(sample) {
    const { history } = this;
    const at = history.findLastIndex(one => one.startMs <= sample.startMs);
    if (at >= 0 && history[at].startMs === sample.startMs) history[at] = sample;
    else history.splice(at + 1, 0, sample);
    const oldest = history.at(-1).startMs - historyMs;
    while (history[0].startMs < oldest) history.shift();
    this.#changed('history');
  }

  #changed(what) { for (const listener of this.#listeners) listener(what); }
}
