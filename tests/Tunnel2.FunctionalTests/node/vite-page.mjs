// Loads a page of vite-server.mjs in chromium, edits a file of it, and sees the edit arrive without a reload: node vite-page.mjs URL FILE.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [, , url, file] = process.argv;
const { hostname, host } = new URL(url);
const profile = mkdtempSync(join(tmpdir(), 'tunnel2-chromium-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
    // Every other name is unknown: what does not go through the tunnel goes nowhere.
    '--disable-sync', `--host-resolver-rules=MAP ${hostname} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`,
  ],
});
let exitCode = 1;
try {
  const page = context.pages()[0] ?? await context.newPage();
  const errors = [];
  const sockets = [];
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
  assert.deepEqual([...new Set(sockets)], [host], 'WebSockets that went elsewhere');
  assert.deepEqual(errors, []);
  console.log('updated without a reload');
  exitCode = 0;
} catch (error) {
  console.log(`FAILED ${error.message}`);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
process.exit(exitCode);
