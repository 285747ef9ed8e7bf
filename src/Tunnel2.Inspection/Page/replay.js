import { call, path, post } from './api.js';
import { element, isSeen, shown, withLineEnds } from './text.js';

const dialog = document.getElementById('dialog');

// Opens a dialog and fills it with what make returns, or with why it failed.
export async function openDialog(title, make) {
  const place = element('div', {}, element('p', { class: 'note', role: 'status' }, 'One moment …'));
  const close = element('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
  dialog.setAttribute('aria-label', title);
  dialog.replaceChildren(element('h2', {}, title), place, element('div', { class: 'actions' }, close));
  if (!dialog.open) dialog.showModal();
  try {
    const made = [await make()].flat().filter(Boolean);
    place.replaceChildren(...made);
    // Beside what the dialog is for, where there is such a bar.
    if (made.at(-1).className === 'actions') made.at(-1).append(close);
  } catch (problem) {
    place.replaceChildren(element('p', { class: 'problem', role: 'alert' }, shown(problem.message)));
  }
}

export function replayView(result, go) {
  const way = result.via === 'tunnel' ? 'Sent through the tunnel.' : `Sent straight to the service: ${result.note}.`;
  return [
    element('p', { id: 'replayed', 'data-via': result.via, 'data-id': result.id }, `Answer: ${result.exchange.status || 'none'}. `, shown(way)),
    result.error ? element('p', { class: 'problem' }, shown(result.error)) : null,
    element('h3', {}, 'What differs from the first answer'),
    ...compareView(result.comparison),
    element('div', { class: 'actions' }, element('button', {
      type: 'button', class: 'main', onclick: () => { dialog.close(); go({ id: String(result.id), tab: 'Response' }); },
    }, `Open #${result.id}`)),
  ];
}

export function compareView(comparison) {
  const nodes = [];
  if (!comparison.status.same) {
    nodes.push(element('p', {}, 'Status: ', element('span', { class: 'gone' }, String(comparison.status.first)), ' → ',
      element('span', { class: 'added' }, String(comparison.status.second))));
  }
  for (const [name, title] of [['response', 'Response'], ['request', 'Request']]) {
    const part = comparison[name];
    if (part.fields.length === 0 && part.trailers.length === 0 && part.body.same && !part.line) {
      nodes.push(element('p', { class: 'note' }, `${title}: fields and body are the same.`));
      continue;
    }
    nodes.push(element('h3', {}, title));
    if (part.line) {
      nodes.push(element('pre', {}, element('div', { class: 'gone' }, '− ', shown(part.line.first)),
        element('div', { class: 'added' }, '+ ', shown(part.line.second))));
    }
    if (part.fields.length > 0) nodes.push(fieldDifference(part.fields));
    nodes.push(...bodyDifference(part.body));
    if (part.trailers.length > 0) nodes.push(element('h4', {}, 'Trailers'), fieldDifference(part.trailers));
  }
  return nodes;
}

function fieldDifference(fields) {
  return element('table', {}, element('tbody', {}, fields.map((field) => element('tr', {},
    element('th', { scope: 'row' }, shown(field.name)), element('td', {},
      field.first.map((value) => element('div', { class: 'gone' }, '− ', shown(value))),
      field.second.map((value) => element('div', { class: 'added' }, '+ ', shown(value))))))));
}

function bodyDifference(body) {
  if (body.same) return [element('p', { class: 'note' }, 'The bodies are the same.')];
  const nodes = [element('p', { class: 'note' }, `Bodies: ${body.firstLength} and ${body.secondLength} bytes`
    + `${body.truncated ? ', of which not all are kept' : ''}; they differ from byte ${body.firstDifference}.`)];
  if (body.note) nodes.push(element('p', { class: 'note' }, shown(body.note)));
  if (body.lines) {
    const lines = context(body.lines).map((line) => element('div', { class: line[0] === '+' ? 'added' : line[0] === '-' ? 'gone' : null },
      shown(line, true)));
    nodes.push(element('pre', { tabindex: '0' }, lines));
  }
  return nodes;
}

// Three lines around each difference; a long run of equal ones is one line.
function context(lines) {
  const near = new Set();
  lines.forEach((line, i) => {
    if (line[0] !== ' ') for (let j = i - 3; j <= i + 3; j++) near.add(j);
  });
  const kept = [];
  let left = 0;
  lines.forEach((line, i) => {
    if (near.has(i)) {
      if (left) kept.push(`  … ${left} equal lines`);
      left = 0;
      kept.push(line);
    } else left++;
  });
  if (left) kept.push(`  … ${left} equal lines`);
  return kept.slice(0, 2000);
}

// The form is filled with the true values: who edits a request has to see it.
export async function editDialog(id, state, go) {
  const exchange = await call(path(state.session, `/${id}`, { reveal: '1' }));
  const one = exchange.request;
  const method = element('input', { value: one.method, 'aria-label': 'Method', size: '8', maxlength: '32' });
  const target = element('input', { value: one.target, class: 'long', 'aria-label': 'Target', size: '50' });
  const [fields, trailers] = [fieldRows(), fieldRows()];
  // The tunnel writes these anew.
  const own = /^(forwarded|x-forwarded-(for|host|proto|port))$/i;
  one.fields.forEach((field, index) => { if (!own.test(field.name)) fields.add(field.name, field.value, index); });
  one.trailers.forEach((field, index) => trailers.add(field.name, field.value, index));
  const isText = one.body.length === 0 || (one.body.text !== undefined && one.body.utf8 !== false && !one.body.coding);
  const text = element('textarea', { rows: '10', 'aria-label': 'Body', spellcheck: 'false', disabled: !isText });
  text.value = isText ? one.body.text ?? '' : '';
  const first = text.value;
  const isVisible = [one.target, text.value, ...[...one.fields, ...one.trailers].map((field) => field.value)].every(isSeen);
  const problem = element('p', { class: 'problem', role: 'alert' });
  const send = element('button', { type: 'button', class: 'main', id: 'send' }, 'Send');
  send.addEventListener('click', async () => {
    const edits = { fields: fields.read() };
    if (one.trailers.length > 0) edits.trailers = trailers.read();
    if (method.value !== one.method) edits.method = method.value;
    if (target.value !== one.target) edits.target = target.value;
    if (isText && (text.value !== first || one.body.truncated)) edits.body = withLineEnds(text.value, one.body.text ?? '');
    send.disabled = true;
    problem.textContent = '';
    try {
      const result = await post(path(state.session, `/${id}/replay`), edits);
      openDialog('Replay', () => replayView(result, go));
    } catch (error) {
      problem.replaceChildren(...shown(error.message));
      send.disabled = false;
    }
  });
  return [
    isVisible ? null : element('p', { class: 'note' }, 'Some characters here cannot be seen, or change the order of others; the Request tab shows which.'),
    element('div', { class: 'actions' }, method, target), element('h3', {}, 'Fields'), fields.place,
    element('button', { type: 'button', onclick: () => fields.add('', '').firstChild.focus() }, 'Add a field'),
    element('h3', {}, 'Body'),
    one.body.truncated ? element('p', { class: 'note' }, `Only the first ${one.body.kept} of ${one.body.length} bytes are kept: what is here is sent in their place.`) : null,
    isText ? null : element('p', { class: 'note' }, 'The body is not plain text and is sent as it was.'),
    text, ...(one.trailers.length > 0 ? [element('h3', {}, 'Trailers'), trailers.place] : []),
    problem, element('div', { class: 'actions' }, send),
  ];
}

// Fields that can be edited. One that is not changed is named by its index: its value may have bytes that no input keeps.
function fieldRows() {
  const place = element('div');
  return {
    place,
    read: () => [...place.children].map((row) => row.read()),
    add(name, value, keep) {
      const nameInput = element('input', { value: name, 'aria-label': 'Name' });
      const valueInput = element('input', { value, 'aria-label': `Value of ${name || 'the new field'}` });
      const row = element('div', { class: 'field' }, nameInput, valueInput,
        element('button', { type: 'button', 'aria-label': `Remove ${name || 'the field'}`, onclick: () => row.remove() }, '✕'));
      row.read = () => (keep !== undefined && nameInput.value === name && valueInput.value === value
        ? { keep } : { name: nameInput.value, value: valueInput.value });
      place.append(row);
      return row;
    },
  };
}
