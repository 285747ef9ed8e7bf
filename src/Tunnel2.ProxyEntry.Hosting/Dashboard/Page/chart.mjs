// A chart of lines over time. Where nothing is known there is a gap in the line, and the background says so.
import { h, setAttribute, setText } from './dom.mjs';
import { time } from './format.mjs';

const width = 600, height = 120;

/** The smallest round number that is not below the value: 1, 2 or 5 times a power of ten. */
function round(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map(step => step * power).find(step => step >= value * 0.999);
}

/** Where samples are missing within [from, to]: pairs of times. */
export function gapsOf(samples, from, to) {
  const gaps = [];
  let end = from;
  for (const { t, seconds } of samples) {
    if (t - end > seconds * 1500) gaps.push([end, t]);
    end = Math.max(end, t + seconds * 1000);
  }
  if (to - end > 15000) gaps.push([end, to]);
  return gaps;
}

/**
 * Makes a chart. `series`: name, class of its colour, `get(sample)`, which returns a number or null. `format`: a value's text.
 * `most`: the top of the scale where it is fixed, `least`: the lowest top.
 */
export function chart({ title, series, format, most = 0, least = 0 }) {
  const lines = series.map(one => h('path', { class: `line ${one.class}` }));
  const gaps = h('g', { class: 'gaps' });
  const cursor = h('line', { class: 'cursor', y1: 0, y2: height, visibility: 'hidden' });
  const plot = h('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    [0.25, 0.5, 0.75].map(y => h('line', { class: 'grid', x1: 0, x2: width, y1: y * height, y2: y * height })), gaps, lines, cursor);
  const values = series.map(() => h('b'));
  const legend = h('p', { class: 'legend' },
    series.map((one, i) => h('span', { class: one.class }, h('i', { 'aria-hidden': 'true' }), `${one.name} `, values[i])));
  const top = h('span', { class: 'top' }), begin = h('span'), end = h('span'), middle = h('span', { class: 'note' });
  const frame = h('div', { class: 'plot', tabindex: 0, role: 'img' }, top, plot);
  const element = h('figure', { class: 'chart' },
    h('figcaption', null, h('h2', { text: title }), legend), frame, h('p', { class: 'axis' }, begin, middle, end));
  let shown = [], range = [0, 1], picked = null;

  const x = t => (t - range[0]) / (range[1] - range[0]) * width;
  const describe = () => {
    const sample = picked ?? shown.at(-1);
    series.forEach((one, i) => setText(values[i], sample ? format(one.get(sample)) : '–'));
    setText(middle, picked ? `at ${time(picked.t, true)}` : gaps.childElementCount > 0 ? 'shaded: no data' : '');
    setAttribute(cursor, 'visibility', picked ? 'visible' : 'hidden');
    if (picked) { const at = x(picked.t + picked.seconds * 500); setAttribute(cursor, 'x1', at); setAttribute(cursor, 'x2', at); }
    const all = series.map((one, i) => `${one.name} ${values[i].textContent}`).join(', ');
    setAttribute(frame, 'aria-label', `${title}${picked ? ` at ${time(picked.t, true)}` : ''}: ${all}`);
  };
  const pick = sample => { if (sample !== picked) { picked = sample; describe(); } };
  frame.addEventListener('pointermove', event => {
    const box = frame.getBoundingClientRect(), at = range[0] + (event.clientX - box.left) / box.width * (range[1] - range[0]);
    pick(shown.find(one => at >= one.t && at < one.t + one.seconds * 1000) ?? null);
  });
  for (const name of ['pointerleave', 'blur']) frame.addEventListener(name, () => pick(null));
  frame.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === 'Escape') pick(null);
    if (!step || shown.length === 0) return;
    event.preventDefault();
    const at = picked ? shown.indexOf(picked) : shown.length;
    pick(shown[Math.min(Math.max(at + step, 0), shown.length - 1)]);
  });

  return {
    element,
    /** Draws samples `{t, seconds, …}`, the oldest first, for the time from `from` to `to`. */
    draw(samples, from, to) {
      range = [from, to];
      shown = samples.filter(one => one.t + one.seconds * 1000 > from && one.t < to);
      if (picked) picked = shown.find(one => one.t === picked.t) ?? null;
      let highest = 0;
      for (const one of shown) for (const { get } of series) highest = Math.max(highest, get(one) ?? 0);
      const scale = most || round(Math.max(highest, least) || 1);
      series.forEach((one, i) => {
        let path = '', last = null;
        for (const sample of shown) {
          const value = one.get(sample);
          if (value === null || value === undefined) { last = null; continue; }
          const joins = last && sample.t - (last.t + last.seconds * 1000) <= sample.seconds * 1500;
          const px = x(sample.t + sample.seconds * 500).toFixed(1), py = (height - Math.min(value / scale, 1) * (height - 4) - 2).toFixed(1);
          // A point without neighbours is a dot.
          path += joins ? `L${px} ${py}` : `M${px} ${py}h.01`;
          last = sample;
        }
        setAttribute(lines[i], 'd', path || null);
      });
      const missing = gapsOf(shown, from, to);
      gaps.replaceChildren(
        ...missing.map(([a, b]) => h('rect', { x: x(a).toFixed(1), y: 0, width: Math.max(0, x(b) - x(a)).toFixed(1), height })));
      setText(top, format(scale));
      setText(begin, time(from));
      setText(end, 'now');
      describe();
    },
  };
}

/** A small line of numbers without axes; `values` may have nulls, which are gaps. */
export function sparkline() {
  const path = h('path', { class: 'line' });
  const element = h('svg', { class: 'spark', viewBox: '0 0 60 16', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, path);
  return {
    element,
    draw(values) {
      const most = Math.max(1, ...values.map(value => value ?? 0));
      let text = '', joins = false;
      values.forEach((value, i) => {
        if (value === null) { joins = false; return; }
        text += `${joins ? 'L' : 'M'}${i} ${(15 - value / most * 14).toFixed(1)}`;
        joins = true;
      });
      setAttribute(path, 'd', text || null);
    },
  };
}
