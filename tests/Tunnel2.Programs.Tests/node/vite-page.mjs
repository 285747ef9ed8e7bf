// A page of vite-server.mjs in Debian's chromium: node vite-page.mjs URL FILE. Edits FILE once the page stands and its hot reload is
// connected. Prints "loaded", "updated without a reload" and "handshakes STATUS…".
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { runWithPage, watchHandshakes } from './chromium.mjs';

const [, , url, file] = process.argv;
await runWithPage(async (page) => {
  const errors = [];
  const sockets = [];
  const handshakes = await watchHandshakes(page);
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('websocket', (socket) => sockets.push(new URL(socket.url()).host));
  const connected = page.waitForEvent('console', { predicate: (message) => message.text().includes('[vite] connected'), timeout: 40_000 });
  await page.goto(url, { waitUntil: 'load', timeout: 40_000 });
  await page.waitForFunction(() => document.querySelector('#out')?.textContent === 'first', undefined, { timeout: 30_000 });
  await connected;
  console.log('loaded');
  await page.evaluate(() => { window.notReloaded = true; });
  writeFileSync(file, "export const message = 'second';\n");
  await page.waitForFunction(() => document.querySelector('#out').textContent === 'second', undefined, { timeout: 30_000 });
  assert.equal(await page.evaluate(() => window.notReloaded), true, 'the page was reloaded');
  assert.deepEqual([...new Set(sockets)], [new URL(url).host], 'WebSockets that went elsewhere');
  assert.deepEqual(errors, []);
  console.log('updated without a reload');
  console.log(`handshakes ${handshakes.join(' ')}`);
});
