// Loads the page of site-server.mjs in Debian's chromium: node page.mjs URL SCREENSHOT. Prints "assets N", "errors N", "again N 304s".
import assert from 'node:assert/strict';
import { runWithPage } from './chromium.mjs';

const [, , url, screenshot] = process.argv;
await runWithPage(async (page) => {
  const errors = [];
  const arrived = new Set();
  const failed = [];
  let notModified = 0;
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('requestfailed', (request) => failed.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on('response', (response) => {
    if (response.status() === 304) {
      notModified++;
    }
  });
  page.on('requestfinished', async (request) => {
    const response = await request.response();
    if (response?.ok() && !request.isNavigationRequest() && !request.url().startsWith('data:')) {
      arrived.add(request.url());
    }
  });

  const started = performance.now();
  await page.goto(url, { waitUntil: 'load', timeout: 30_000 });
  await page.waitForFunction(() => document.title === 'complete', undefined, { timeout: 30_000 });
  await page.waitForLoadState('networkidle');
  console.log(`loaded in ${Math.round(performance.now() - started)} ms`);
  assert.equal(await page.textContent('#modules'), '30');
  const broken = await page.evaluate(() => [...document.images].filter((image) => image.naturalWidth === 0).length);
  assert.equal(broken, 0, 'broken images');
  const fonts = await page.evaluate(() => [...document.fonts].filter((face) => face.status === 'loaded').length);
  assert.equal(fonts, 10, 'fonts loaded');
  if (screenshot) {
    await page.screenshot({ path: screenshot });
  }
  console.log(`assets ${arrived.size}`);

  await page.reload({ waitUntil: 'load' });
  await page.waitForFunction(() => document.title === 'complete', undefined, { timeout: 30_000 });
  console.log(`after a reload ${notModified} not modified`);
  assert.deepEqual(failed, []);
  assert.deepEqual(errors, []);
  console.log(`errors ${errors.length}`);
}, { viewport: { width: 900, height: 700 } });
