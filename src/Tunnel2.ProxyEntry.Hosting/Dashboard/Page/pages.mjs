// The pages. A new one is a module beside these and a line here; its `order` is its place among the links.
export { default as node } from './pages/node.mjs';
export { default as cluster } from './pages/cluster.mjs';
export { default as sessions } from './pages/sessions.mjs';
export { default as session } from './pages/session.mjs';
export { default as agents } from './pages/agents.mjs';
export { default as requests } from './pages/requests.mjs';
export { default as alerts } from './pages/alerts.mjs';
