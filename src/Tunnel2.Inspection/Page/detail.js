import { call, download, exchangeOf, isEntry, path, post, stampOf } from './api.js';
import { compareView, editDialog, openDialog, replayView } from './replay.js';
import { bytesOf, element, hex, pretty, shown, size, time } from './text.js';

const longest = 2000;
const tabs = ['Request', 'Response', 'Timing', 'Messages'];

// Shows one exchange. state: session, id, tab, reveal; go(changes) changes the address.
export function detailView(exchange, state, go) {
  const view = document.createDocumentFragment();
  const title = element('h2', {}, element('span', { class: 'method' }, shown(exchange.method)), ' ',
    element('span', { class: `status s${Math.min(5, Math.floor(exchange.status / 100))}` }, exchange.status ? String(exchange.status) : 'no answer'), ' ',
    shown(exchange.target));
  view.append(element('button', { id: 'back', type: 'button', onclick: () => go({ id: null }) }, '← List'), title);
  if (exchange.error) view.append(element('p', { class: 'problem' }, `${exchange.leg}: `, shown(exchange.error)));
  if (exchange.service) view.append(element('p', { class: 'note' }, 'Service: ', shown(exchange.service)));
  if (exchange.via) {
    view.append(element('p', { class: 'note' }, 'Replay of ', element('a', { href: state.link(exchange.replayOf) }, `#${exchange.replayOf}`),
      exchange.via === 'tunnel' ? ', through the tunnel' : ', straight to the service'));
  }

  view.append(actions(exchange, state, go));
  const counts = { Messages: exchange.messageCount };
  const list = element('div', { role: 'tablist', 'aria-label': 'Parts of the exchange' });
  const present = tabs.filter((tab) => tab !== 'Messages' || exchange.messageCount > 0 || exchange.kind !== 'http');
  const chosen = present.includes(state.tab) ? state.tab : 'Response';
  for (const tab of present) {
    list.append(element('button', {
      type: 'button', role: 'tab', id: `tab-${tab}`, 'aria-selected': String(tab === chosen), 'aria-controls': 'panel',
      tabindex: tab === chosen ? '0' : '-1', onclick: () => go({ tab }),
    }, counts[tab] ? `${tab} (${counts[tab]})` : tab));
  }
  list.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step) {
      event.preventDefault();
      event.stopPropagation();
      go({ tab: present[(present.indexOf(chosen) + step + present.length) % present.length], focus: 'tab' });
    }
  });
  const panel = element('div', { role: 'tabpanel', id: 'panel', 'aria-labelledby': `tab-${chosen}`, tabindex: '0' });
  panel.append(...({ Request: request, Response: response, Timing: timing, Messages: messages })[chosen](exchange, state));
  view.append(list, panel);
  return view;
}

function actions(exchange, state, go) {
  const bar = element('div', { class: 'actions' });
  const replay = element('button', {
    type: 'button', class: 'main', id: 'replay', disabled: exchange.kind === 'websocket' || exchange.kind === 'upgrade',
    onclick: () => openDialog('Replay', async () => replayView(await post(path(state.session, `/${exchange.id}/replay`)), go)),
  }, 'Replay');
  const edit = element('button', {
    type: 'button', id: 'edit', disabled: replay.disabled, title: 'Shows secrets in the form',
    onclick: () => openDialog('Edit and replay', () => editDialog(exchange.id, state, go)),
  }, 'Edit and replay');
  const copy = element('select', { id: 'copy', 'aria-label': 'Copy as' }, element('option', { value: '' }, 'Copy as …'),
    ...[['curl', 'curl'], ['httpie', 'HTTPie'], ['csharp', 'C#']].map(([value, text]) => element('option', { value }, text)));
  copy.addEventListener('change', () => {
    const format = copy.value;
    copy.value = '';
    if (format) openDialog(`Copy as ${format}`, () => copyView(exchange.id, state, format));
  });
  const place = `marked ${state.session}`;
  const [marked, stamp] = (sessionStorage.getItem(place) ?? '').split('@');
  const compare = marked && marked !== String(exchange.id)
    ? element('button', {
      type: 'button', id: 'compare',
      onclick: () => openDialog(`Compare #${marked} with #${exchange.id}`,
        async () => {
          await exchangeOf(state.session, marked, stamp);
          return compareView(await call(path(state.session, `/${marked}/compare/${exchange.id}`)));
        }),
    }, `Compare with #${marked}`)
    : element('button', { type: 'button', id: 'mark', onclick: () => { sessionStorage.setItem(place, `${exchange.id}@${stampOf(exchange)}`); go({}); } },
      marked ? 'Marked to compare' : 'Mark to compare');
  const reveal = element('button', {
    type: 'button', id: 'reveal', 'aria-pressed': String(Boolean(state.reveal)), onclick: () => go({ reveal: !state.reveal }),
  }, state.reveal ? 'Hide secrets' : 'Show secrets');
  const har = element('a', {
    class: 'button', href: path(state.session, '.har', { id: exchange.id }), download: true,
    onclick: (event) => download(event, `${state.session}-${exchange.id}.har`).catch((problem) => openDialog('HAR', () => { throw problem; })),
  }, 'HAR');
  const link = element('a', { class: 'button', href: state.link(exchange.id, stampOf(exchange)), title: 'Leads here for as long as it is kept' }, `#${exchange.id}`);
  bar.append(replay, edit, copy, compare, reveal, har, link);
  return bar;
}

async function copyView(id, state, format) {
  const { text, note } = await call(path(state.session, `/${id}/copy/${format}`, { reveal: state.reveal ? '1' : '' }));
  const done = element('p', { class: 'note', role: 'status' });
  const button = element('button', {
    type: 'button', class: 'main', disabled: !text,
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        done.textContent = 'Copied.';
      } catch {
        done.textContent = 'The browser does not allow it: select the text.';
      }
    },
  }, 'Copy');
  return [note ? element('p', { class: 'note' }, shown(note)) : null, element('pre', { tabindex: '0' }, shown(text, true)),
    state.reveal ? null : element('p', { class: 'note' }, 'Secrets are masked; "Show secrets" copies them too.'), done,
    element('div', { class: 'actions' }, button)];
}

function request(exchange, state) {
  const one = exchange.request;
  return [line(`${one.method} ${one.target} ${one.version ?? ''}`.trimEnd()), fields(one.fields), ...body(one.body, 'request', state), ...trailers(one)];
}

function response(exchange, state) {
  const one = exchange.response;
  if (!one.status) return [element('p', { class: 'note' }, exchange.ended ? 'There was no answer.' : 'There is no answer yet.')];
  return [line(`${one.version ?? ''} ${one.status} ${one.reason}`.trim()), fields(one.fields), ...(exchange.kind === 'websocket' ? [] : body(one.body, 'response', state)),
    ...trailers(one)];
}

function line(text) {
  return element('pre', {}, shown(text));
}

function fields(list) {
  return element('table', {}, element('tbody', {}, list.map((field) => element('tr', {}, element('th', { scope: 'row' }, shown(field.name)),
    element('td', { class: field.masked ? 'masked' : null, title: field.masked ? 'masked' : null }, value(field.value))))));
}

// A very long value is shown whole when the user asks for it.
function value(text) {
  if (text.length <= longest) return shown(text);
  const rest = element('button', {
    type: 'button', onclick: () => rest.replaceWith(...shown(text.slice(longest))),
  }, `… ${text.length - longest} characters more`);
  return [...shown(text.slice(0, longest)), rest];
}

function trailers(one) {
  return one.trailers.length === 0 ? [] : [element('h3', {}, 'Trailers'), fields(one.trailers)];
}

function body(one, name, state) {
  if (one.length === 0) return [element('p', { class: 'note' }, 'No body.')];
  const facts = [size(one.length), one.type, one.coding ? `${one.coding}, ${one.decoding}: ${size(one.decodedLength)}` : '',
    one.truncated ? `only the first ${size(one.kept)} are kept` : '', one.masked ? 'secrets masked' : '',
    one.kind === 'binary' && !one.withheld && !state.reveal ? 'secrets in bytes are not masked' : '', one.utf8 === false ? 'not UTF-8' : ''];
  const nodes = [element('h3', {}, 'Body'), element('p', { class: 'note' }, shown(facts.filter(Boolean).join(' · ')))];
  if (one.withheld) return [...nodes, element('p', { class: 'problem' }, shown(one.withheld), ' "Show secrets" shows it.')];
  const place = element('div');
  const views = [];
  if (one.kind === 'json') views.push(['JSON', () => element('pre', { tabindex: '0' }, shown(pretty(one.text), true))]);
  if (one.kind === 'form') views.push(['Form', () => form(one.text)]);
  if (one.kind === 'image') views.push(['Image', () => image(one, name)]);
  if (one.text !== undefined) views.push(['Text', () => element('pre', { tabindex: '0' }, shown(one.text, true))]);
  views.push(['Hex', () => element('pre', { class: 'hex', tabindex: '0' }, hex(bytesOf(one)))]);
  const bar = element('div', { class: 'actions' });
  const choose = (at) => {
    place.replaceChildren(views[at][1]());
    [...bar.children].forEach((button, i) => button.setAttribute('aria-pressed', String(i === at)));
  };
  views.forEach(([text], at) => bar.append(element('button', { type: 'button', onclick: () => choose(at) }, text)));
  choose(0);
  return [...nodes, bar, place];
}

function form(text) {
  return fields(text.split('&').filter(Boolean).map((part) => {
    const at = part.indexOf('=');
    return { name: decoded(at < 0 ? part : part.slice(0, at)), value: decoded(at < 0 ? '' : part.slice(at + 1)) };
  }));
}

function decoded(text) {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function image(one, name) {
  const url = URL.createObjectURL(new Blob([bytesOf(one)], { type: one.type }));
  const picture = element('img', { class: 'body', alt: `The ${name}'s picture`, src: url });
  picture.addEventListener('load', () => URL.revokeObjectURL(url));
  picture.addEventListener('error', () => picture.replaceWith(element('p', { class: 'note' }, 'The picture cannot be shown.')));
  return picture;
}

function timing(exchange) {
  const total = Math.max(exchange.durationMs, 0.001);
  const words = { connect: 'Connect', send: 'Send', wait: 'Wait', receive: 'Receive' };
  const rows = exchange.timing.legs.flatMap((leg) => {
    const drawing = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    drawing.setAttribute('viewBox', '0 0 100 10');
    drawing.setAttribute('preserveAspectRatio', 'none');
    drawing.setAttribute('aria-hidden', 'true');
    bar.setAttribute('x', String(100 * leg.startMs / total));
    bar.setAttribute('width', String(Math.max(0.4, 100 * leg.lengthMs / total)));
    bar.setAttribute('height', '10');
    drawing.append(bar);
    return [element('span', {}, words[leg.name] ?? leg.name), drawing, element('span', { class: 'time' }, time(leg.lengthMs))];
  });
  const ended = exchange.timing.requestEndedMs;
  return [element('p', { class: 'note' }, `Began ${new Date(exchange.startedAt).toLocaleString(undefined, { hour12: false })}, ${exchange.ended ? 'lasted' : 'has lasted'} ${time(exchange.durationMs)}. `
    + `Times are those at ${isEntry ? 'ProxyEntry: to the agent' : 'the agent: to the service'} and back.`), element('div', { class: 'waterfall' }, rows),
  element('p', { class: 'note' }, ended === undefined ? 'The request was not sent whole.' : `The request was sent whole after ${time(ended)}.`)];
}

function messages(exchange) {
  const dropped = exchange.messageCount - exchange.messages.length;
  const nodes = [element('p', { class: 'note' }, `${exchange.messageCount} messages${dropped > 0 ? `; the last ${exchange.messages.length} are kept` : ''}.`)];
  for (const message of exchange.messages) {
    const facts = [message.from === 'visitor' ? '→ service' : '← visitor', message.kind, message.event ?? '', size(message.length),
      `at ${time(message.atMs)}`, message.truncated ? 'cut' : '', message.masked ? 'secrets masked' : '', message.note ?? ''];
    const content = message.text !== undefined ? shown(message.text, true) : hex(bytesOf(message), 2048);
    nodes.push(element('div', { class: `message ${message.from}` }, element('div', { class: 'note' }, shown(facts.filter(Boolean).join(' · '))),
      element('pre', { class: message.text === undefined ? 'hex' : null, tabindex: '0' }, content)));
  }
  return nodes;
}
