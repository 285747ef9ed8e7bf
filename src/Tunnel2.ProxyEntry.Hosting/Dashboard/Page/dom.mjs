// Elements are made here only, and a value becomes text only: nothing that comes from the server is parsed as HTML.

const svgNames = new Set(['svg', 'path', 'rect', 'line', 'g']);

/** Makes an element. `props`: attributes, `class`, `text`, and `on` with listeners. Children are elements or text; null is left out. */
export function h(tag, props, ...children) {
  const element = svgNames.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === 'text') element.textContent = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** Changes an element's text only where it differs: nothing is laid out again for nothing. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets or removes an attribute. */
export function setAttribute(element, name, value) {
  if (value === null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Gives `parent` exactly these children, and leaves those in place that are there already: focus and selection stay. */
export function setChildren(parent, children) {
  let at = parent.firstChild;
  for (const child of children) {
    if (child === at) at = at.nextSibling;
    else parent.insertBefore(child, at);
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}

/** Calls `draw` once in the next frame, however often it is asked. */
export function coalesce(draw) {
  let frame = 0;
  const ask = () => { frame ||= requestAnimationFrame(() => { frame = 0; draw(); }); };
  ask.cancel = () => { cancelAnimationFrame(frame); frame = 0; };
  return ask;
}
