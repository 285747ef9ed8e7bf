// Debian's chromium with one page on which only the given URL's host exists: whatever does not go through the tunnel goes nowhere.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

/** Runs an async function with a page, prints "FAILED why" when it throws, and ends the process. */
export async function runWithPage(url, run) {
  const { hostname } = new URL(url);
  const profile = mkdtempSync(join(tmpdir(), 'tunnel2-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    // The certificate of a test is nobody's.
    ignoreHTTPSErrors: true,
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
      '--disable-sync', '--ignore-certificate-errors', `--host-resolver-rules=MAP ${hostname} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`,
    ],
  });
  let exitCode = 1;
  try {
    await run(context.pages()[0] ?? await context.newPage());
    exitCode = 0;
  } catch (error) {
    console.log(`FAILED ${error.message}`);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
  process.exit(exitCode);
}

/** Keeps the statuses by which the page's WebSockets were opened: 200 over HTTP/2, 101 over HTTP/1.1. */
export async function watchHandshakes(page) {
  const statuses = [];
  const devtools = await page.context().newCDPSession(page);
  devtools.on('Network.webSocketHandshakeResponseReceived', ({ response }) => statuses.push(response.status));
  await devtools.send('Network.enable');
  return statuses;
}
