// What several pages are made of.
import { h, setAttribute, setText } from './dom.mjs';
import { bytes, count, duration } from './format.mjs';
import { chart } from './chart.mjs';

/** Tiles with a number each. `draw` gets a text for each, or a pair of a text and whether it is bad. */
export function tiles(names) {
  const values = names.map(() => h('dd'));
  const element = h('dl', { class: 'tiles' },
    names.map((name, i) => h('div', { class: 'tile' }, h('dt', { text: name }), values[i])));
  return {
    element,
    draw(texts) {
      texts.forEach((one, i) => {
        const [text, isBad] = Array.isArray(one) ? one : [one, false];
        setText(values[i], text);
        setAttribute(values[i], 'class', isBad ? 'bad' : null);
      });
    },
  };
}

/** A region that scrolls a wide table sideways, also with the keyboard. */
export const scroll = (label, table) => h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, table);

/** The head of a table; the first `left` columns are texts. */
export const tableHead = (names, left = 1) => h('thead', null, h('tr', null,
  names.map((name, i) => h('th', { scope: 'col', class: i < left ? 'left' : null, text: name }))));

/** A caption for screen readers. */
export const caption = text => h('caption', { class: 'hidden', text });

/** A block with a table. `draw` gets rows of `cells`, texts, and a `kind`, bad or warn; an empty table says so, and one before it waits. */
export function tableBlock(title, heads, emptyText) {
  const body = h('tbody');
  const region = scroll(title, h('table', null, caption(title), tableHead(heads), body));
  const empty = h('p', { class: 'note', text: 'Waiting for the first reading.' });
  const element = h('section', { class: 'block' }, h('h2', { text: title }), region, empty);
  let drawn = '';
  return {
    element,
    draw(rows) {
      const text = JSON.stringify(rows);
      if (text === drawn) return;
      drawn = text;
      setText(empty, emptyText);
      region.hidden = rows.length === 0;
      empty.hidden = rows.length > 0;
      body.replaceChildren(...rows.map(({ cells, kind }) => h('tr', { class: kind }, cells.map((cell, i) => i === 0
        ? h('th', { scope: 'row', class: 'left' }, h('bdi', { text: cell }))
        : h('td', { text: cell })))));
    },
  };
}

/** The charts of requests, durations and bytes, from samples with a window's statistics. */
export function rateCharts() {
  const per = get => sample => get(sample) / sample.seconds;
  const timed = get => sample => sample.requests > 0 ? get(sample) : null;
  return [
    chart({
      title: 'Requests per second', format: count, least: 1,
      series: [
        { name: 'requests', class: 's1', get: per(one => one.requests) },
        { name: 'errors', class: 'bad', get: per(one => one.errors) },
      ],
    }),
    chart({
      title: 'Duration', format: duration, least: 1000,
      series: [
        { name: 'p50', class: 's1', get: timed(one => one.p50Us) },
        { name: 'p95', class: 's2', get: timed(one => one.p95Us) },
        { name: 'p99', class: 's3', get: timed(one => one.p99Us) },
      ],
    }),
    chart({
      title: 'Bytes per second', format: bytes, least: 1000,
      series: [
        { name: 'from visitors', class: 's1', get: per(one => one.bytesIn) },
        { name: 'to visitors', class: 's2', get: per(one => one.bytesOut) },
      ],
    }),
  ];
}
