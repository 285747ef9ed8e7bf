// Talks to the server of this page, and to nothing else: an agent, or ProxyEntry's admin listener.

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// At ProxyEntry the page is below this path; an agent serves nothing else.
export const isEntry = location.pathname.startsWith('/inspector/');

// The admin token stays in this tab, where the dashboard keeps it too. An agent gives a cookie for its token.
const place = 'tunnel2-token';
const token = () => (isEntry ? sessionStorage.getItem(place) : null);

export function keepToken(text) {
  sessionStorage.setItem(place, text);
}

function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  return fetch(path, { credentials: 'same-origin', cache: 'no-store', redirect: 'error', ...options, headers });
}

async function refusal(answer) {
  const text = await answer.text();
  let problem = {};
  try {
    problem = JSON.parse(text);
  } catch {
    // A proxy before the admin listener may refuse in plain text.
    problem = { detail: text.trim().slice(0, 300) };
  }
  return new Refused(answer.status, problem.code ?? '', problem.detail || `The answer was ${answer.status}.`);
}

export async function call(path, options) {
  const answer = await ask(path, options);
  if (!answer.ok) throw await refusal(answer);
  return answer.status === 204 ? null : answer.json();
}

export function post(path, body) {
  return call(path, body === undefined ? { method: 'POST' }
    : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
}

export const sessions = () => call('/api/v1/sessions?inspected=true');

// Begins, prolongs (PUT) or ends (DELETE) the inspection of a session at ProxyEntry.
export const inspection = (session, method, minutes = 10) =>
  call(`/api/v1/sessions/${encodeURIComponent(session)}/inspection${method === 'PUT' ? `?minutes=${minutes}` : ''}`, { method });

export function path(session, rest = '', parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== '' && value !== undefined && value !== null));
  const text = query.toString();
  return `/api/v1/sessions/${encodeURIComponent(session)}/exchanges${rest}${text ? '?' + text : ''}`;
}

// Numbers begin at 1 again with each start of an agent or an inspection: when it began says which exchange of a number is meant.
export const stampOf = (exchange) => Date.parse(exchange.startedAt).toString(36);

export async function exchangeOf(session, id, stamp, reveal) {
  const exchange = await call(path(session, `/${id}`, { reveal: reveal ? '1' : '' }));
  if (stamp && stamp !== stampOf(exchange)) {
    throw new Refused(404, 'no-exchange', `Request #${id} of this link is gone. What now has its number is another request, of a later start.`);
  }
  return exchange;
}

// A link to a file cannot show a token: where there is one, the file is fetched and given to the browser.
export async function download(event, name) {
  if (!token()) return;
  event.preventDefault();
  const answer = await ask(event.currentTarget.href);
  if (!answer.ok) throw await refusal(answer);
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
