// Debian's chromium, in which only names that tests use exist: whatever does not go through the tunnel goes nowhere.
import { chromium } from 'playwright-core';

/** How it is started. */
export const launchOptions = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--ignore-certificate-errors',
    '--host-resolver-rules=MAP *.localhost 127.0.0.1, MAP *.tunnel.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  ],
};

/**
 * Runs an async function with a page, prints "FAILED why" when it throws, and ends the process. The page has a context of its own, which
 * shares neither connections nor what is kept with others, in the browser of chromium-server.mjs whose address TUNNEL2_CHROMIUM is, or else
 * in a browser of its own.
 */
export async function runWithPage(run, contextOptions) {
  const server = process.env.TUNNEL2_CHROMIUM;
  const browser = server ? await chromium.connect(server) : await chromium.launch(launchOptions);
  let exitCode = 1;
  try {
    // The certificate of a test is nobody's.
    const context = await browser.newContext({ ignoreHTTPSErrors: true, ...contextOptions });
    await run(await context.newPage());
    await context.close();
    exitCode = 0;
  } catch (error) {
    console.log(`FAILED ${error.message}`);
  } finally {
    await browser.close();
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
