// Compares the manifests beside it with Kubernetes' own schemas (npm: kubernetes-models). A field that no schema reads is unknown, and
// reported: Kubernetes would ignore a misspelt probe. Started by check.sh.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [folder, modules] = process.argv.slice(2);
const require = createRequire(join(modules, 'node_modules', 'here.js'));
const { parseAllDocuments } = require('yaml');
const title = (word) => word[0].toUpperCase() + word.slice(1);
let documents = 0;
let mistakes = 0;

function watch(value, path, unread) {
  if (value === null || typeof value !== 'object') {
    return value;
  }

  const inner = Array.isArray(value) ? [] : {};
  for (const [key, part] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    inner[key] = watch(part, at, unread);
    unread.add(at);
  }

  return new Proxy(inner, {
    get(target, key) {
      if (typeof key === 'string') {
        unread.delete(Array.isArray(target) ? `${path}[${key}]` : `${path}.${key}`);
      }

      return target[key];
    },
  });
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')) {
  for (const document of parseAllDocuments(readFileSync(join(folder, file), 'utf8'))) {
    const value = document.toJS();
    const found = document.errors.map((error) => error.message);
    const unread = new Set();
    documents++;
    try {
      const [group, version] = value.apiVersion.includes('/') ? value.apiVersion.split('/') : ['core', value.apiVersion];
      const { validate } = require(
        join(modules, `node_modules/kubernetes-models/_schemas/IoK8sApi${title(group)}${title(version)}${value.kind}.js`));
      if (!validate(watch(value, '', unread))) {
        found.push(...validate.errors.map((error) => `${error.instancePath}: ${error.keyword} ${JSON.stringify(error.params)}`));
      }

      found.push(...[...unread].map((path) => `unknown field ${path}`));
    } catch (error) {
      found.push(error.message);
    }

    mistakes += found.length;
    console.log(`${file}: ${value.kind} ${value.metadata?.name}: ${found.length === 0 ? 'as the schema says' : found.join('; ')}`);
  }
}

process.exit(mistakes > 0 || documents === 0 ? 1 : 0);
