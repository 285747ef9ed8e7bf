// How numbers, times and texts of strangers are written.

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const clockSeconds = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

/** 12,345.6 */
export const count = value => value === null || value === undefined ? '–' : number.format(value);

/** µs as a duration. */
export function duration(us) {
  if (us === null || us === undefined) return '–';
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e4) return `${(us / 1e3).toFixed(2)} ms`;
  if (us < 1e6) return `${Math.round(us / 1e3)} ms`;
  return us < 6e7 ? `${(us / 1e6).toFixed(1)} s` : long(us / 1e3);
}

/** ms as a long duration: 3 h 5 min. */
export function long(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds % 86400 / 3600)} h`;
}

/** 1.2 MB */
export function bytes(value) {
  if (value === null || value === undefined) return '–';
  for (const unit of ['B', 'kB', 'MB', 'GB', 'TB']) {
    if (value < 999.5 || unit === 'TB') return `${unit === 'B' || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${unit}`;
    value /= 1000;
  }
  return '';
}

/** 0.371 as 37 %. */
export function share(value) {
  if (value === null || value === undefined) return '–';
  return `${value > 0 && value < 0.0995 ? (value * 100).toFixed(1) : Math.round(value * 100)} %`;
}

/** The time of day; with the day when it is not today. */
export function time(ms, seconds = false) {
  const then = new Date(ms), text = (seconds ? clockSeconds : clock).format(then);
  return then.toDateString() === new Date().toDateString() ? text : `${day.format(then)}, ${text}`;
}

/** A day. */
export const date = ms => day.format(new Date(ms));

/** Characters that are not seen, or that change the order of others: controls, bidi marks, joiners, halves of pairs. */
const hidden = new RegExp([
  '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f',
  '\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\uffff]|\\udb40[\\udc00-\\udfff]|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]',
].join(''), 'g');

/** A text of strangers with every hidden character written out, cut to a length that a page can show. */
export function visible(text, most = 400) {
  const value = String(text ?? '');
  const cut = value.length > most ? `${value.slice(0, most)}… (${value.length} characters)` : value;
  return cut.replace(hidden, one => `\\u{${one.codePointAt(0).toString(16)}}`);
}

/** Bytes of strangers, a character each: beyond ASCII they are written as \xNN, because their encoding is not known. */
export function visibleBytes(text) {
  return visible(String(text ?? '').replace(/[\u007f-\u00ff]/g, one => `\\x${one.charCodeAt(0).toString(16)}`), 1100);
}

const legs = { visitor: 'at the visitor', entry: 'at this server', uplink: 'on the way to the agent', backend: 'at the backend' };

/** Where a leg is, in words. */
export const legWords = leg => legs[leg] ?? 'on the way';

/** Errors that are none of the server's own. */
const others = {
  'visitor-left': {
    leg: 'visitor', title: 'The visitor left', detail: 'The visitor closed the connection before the end of the answer.',
  },
  'backend-5xx': {
    leg: 'backend', title: 'The service answered with an error',
    detail: 'The service itself answered with a status of 500 or above. Its log says why.',
  },
};

/** An error's words: its leg, title and detail. */
export function errorWords(code, info) {
  return others[code] ?? info?.errors?.[code] ?? { leg: 'entry', title: code ?? '', detail: '' };
}

/** Whether an error is a visitor whom access rules turned away: the server did what it was told to do. */
export const isRefusal = (code, info) => info?.errors?.[code]?.refusal === true;

/** Why a request failed: its code, or null when it did not. */
export const failureOf = request => request.error ?? (request.status >= 500 ? 'backend-5xx' : null);

function certificateRefusal({ subject, text, value }, since) {
  const what = value > 1 ? `${count(value)} certificates cannot be used or obtained` : 'A certificate cannot be used or obtained';
  const which = `${value > 1 ? 'first of all ' : ''}${visible(subject, 100)}${text ? ` (${visible(text.replace(/\.$/, ''), 300)})` : ''}`;
  return `${what} ${since}: ${which}. The one before stays in use, where there was one.`;
}

/** An alert as a sentence. */
export function alertWords(alert, info) {
  const since = `since ${time(alert.sinceMs)}`, subject = visible(alert.subject, 100), part = share(alert.share);
  const names = alert.text ? ` (${visible(alert.text, 100)})` : '';
  switch (alert.kind) {
    case 'failing':
      return `${subject}: ${part} of requests fail ${legWords(alert.leg)} ${since}. `
        + `Most often: ${errorWords(alert.code, info).title} (${alert.code}).`;
    case 'offline':
      return `${subject}: the agent is away ${since}.`;
    case 'certificate':
      return `The certificate for ${subject}${names} ${alert.value < Date.now() ? 'ended' : 'ends'} on ${date(alert.value)}.`;
    case 'certificate-refused':
      return certificateRefusal(alert, since);
    case 'loop':
      return `Event loop ${alert.value} is busy ${part} of the time ${since}.`;
    case 'memory':
      return `Answers that visitors do not read fill ${part} of their memory ${since}. `
        + 'When it is full, transfers that stand still are cut.';
    case 'hub':
      return `The server is short of memory or processors ${since}: slow watchers are paused, and new ones may be refused.`;
    case 'missed':
      return `${count(alert.value)} requests are missing from these statistics ${since}: the server was too busy to count them.`;
    case 'not-ready':
      return `The server is not ready ${since}: ${visible(alert.text)}.`;
    default:
      return `${alert.kind} ${since}`;
  }
}
