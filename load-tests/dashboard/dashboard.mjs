// What load-tests/dashboard/run.sh, which explains the figures, does with the page:
//   subscriptions URL    prints what the page sends when it is opened, a message on each line
//   follow URL FILE      a plain client of that server which sends the lines of FILE: prints "open", and goes on until SIGTERM
//   open URL             the page: prints "open", and stays until SIGTERM
//   paint URL COUNT      the first paint of COUNT new profiles, and what all files weigh
//   fluid URL MINUTES    frames a second and heap of the list of requests
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { launchOptions } from '../../tests/Tunnel2.Programs.Tests/node/chromium.mjs';

const require = createRequire(new URL('../../tests/Tunnel2.Programs.Tests/node/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const { WebSocket } = require('ws');

/** Nothing but the minutes themselves takes so long. */
const patience = 60_000;
const scrollSeconds = 10;
const [command, url, argument] = process.argv.slice(2);

const untilTerminated = new Promise(resolve => { process.once('SIGTERM', resolve); });
const sleep = milliseconds => new Promise(resolve => { setTimeout(resolve, milliseconds); });
const median = values => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];

async function openPage(browser, prepare = () => {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  prepare(page);
  await page.goto(url);
  await page.locator('html[data-live=live]').waitFor({ state: 'attached' });
  return page;
}

/** Runs with a browser, which ends whatever happens. */
async function withBrowser(run) {
  const browser = await chromium.launch({ ...launchOptions, handleSIGTERM: false, timeout: patience });
  try {
    await run(browser);
  } finally {
    await browser.close();
  }
}

const commands = {
  subscriptions: () => withBrowser(async browser => {
    await openPage(browser, page => page.on('websocket', socket => socket.on('framesent', ({ payload }) => console.log(String(payload)))));
    // They are sent at once after the connection was made.
    await sleep(1000);
  }),

  async follow() {
    const lines = readFileSync(argument, 'utf8').split('\n').filter(Boolean);
    const socket = new WebSocket(`ws://${new URL(url).host}/live`, 'tunnel2.live.v1', { perMessageDeflate: false });
    let messages = 0, bytes = 0, missing = lines.length;
    await new Promise((resolve, reject) => {
      socket.on('error', reject);
      socket.on('close', (code, reason) => reject(new Error(`closed: ${code} ${reason}`)));
      socket.on('open', () => { for (const line of lines) socket.send(line); });
      socket.on('message', data => {
        messages++;
        bytes += data.length;
        if (missing > 0 && JSON.parse(data).type === 'subscribed' && --missing === 0) console.log('open');
      });
      untilTerminated.then(resolve);
    });
    console.log(`${messages} messages, ${bytes} bytes`);
    socket.terminate();
  },

  open: () => withBrowser(async browser => {
    await openPage(browser);
    console.log('open');
    await untilTerminated;
  }),

  paint: () => withBrowser(async browser => {
    const rows = [];
    for (let i = 0; i < Number(argument); i++) {
      const page = await openPage(browser);
      rows.push(await page.evaluate(async () => {
        const entry = await new Promise(resolve => {
          new PerformanceObserver(list => {
            const found = list.getEntries().find(one => one.name === 'first-contentful-paint');
            if (found) resolve(found);
          }).observe({ type: 'paint', buffered: true });
        });
        const files = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
          .filter(one => one.decodedBodySize > 0);
        return { paint: entry.startTime, files: files.length, bytes: files.reduce((sum, one) => sum + one.decodedBodySize, 0) };
      }));
      await page.context().close();
    }
    console.log(['profile', 'first_paint_ms', 'files', 'bytes'].join('\t'));
    rows.forEach((row, i) => console.log([i + 1, row.paint.toFixed(0), row.files, row.bytes].join('\t')));
    console.log(`median of the first paint: ${median(rows.map(row => row.paint)).toFixed(0)} ms; all files: ${rows[0].bytes} bytes`);
  }),

  fluid: () => withBrowser(async browser => {
    const page = await openPage(browser);
    await page.evaluate(() => { location.hash = '#/requests'; });
    await page.locator('.rows .row').first().waitFor();
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('HeapProfiler.enable');
    const heap = async () => {
      await devtools.send('HeapProfiler.collectGarbage');
      return (await devtools.send('Runtime.getHeapUsage')).usedSize;
    };
    const scroll = () => page.evaluate(seconds => new Promise(resolve => {
      const view = document.querySelector('.view'), gaps = [];
      const begin = performance.now();
      let last = begin, step = 90;
      const next = now => {
        gaps.push(now - last);
        last = now;
        if (now - begin > seconds * 1000) {
          const kept = document.querySelector('#list-note').textContent;
          resolve({ rate: gaps.length * 1000 / (now - begin), longest: Math.max(...gaps), kept });
          return;
        }
        if (view.scrollTop + view.clientHeight >= view.scrollHeight - 1) step = -90;
        if (view.scrollTop <= 0) step = 90;
        view.scrollTop += step;
        requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    }), scrollSeconds);

    // The list is full after some seconds: what comes later may not grow.
    await sleep(15_000);
    const begun = Date.now(), heaps = [], rates = [];
    console.log(['minute', 'heap_MB', 'frames_per_s', 'longest_frame_ms', 'list'].join('\t'));
    for (let minute = 0; minute <= Number(argument); minute++) {
      await sleep(Math.max(0, begun + minute * 60_000 - Date.now()));
      const bytes = await heap(), { rate, longest, kept } = await scroll();
      heaps.push(bytes);
      rates.push(rate);
      console.log([minute, (bytes / 1e6).toFixed(1), rate.toFixed(1), longest.toFixed(0), kept].join('\t'));
    }
    const growth = (heaps.at(-1) / heaps[0]).toFixed(2), spread = (Math.max(...heaps) / Math.min(...heaps)).toFixed(2);
    console.log(`least frames/s: ${Math.min(...rates).toFixed(1)}; heap: end ÷ start ${growth}, largest ÷ smallest ${spread}`);
  }),
};

if (!Object.hasOwn(commands, command ?? '') || !url) {
  console.error('see load-tests/dashboard/run.sh');
  process.exit(2);
}

await commands[command]().then(() => process.exit(0), error => {
  console.error(error.message);
  process.exit(1);
});
