// One browser for all pages: node chromium-server.mjs. Prints "listening ADDRESS"; SIGTERM ends it.
import { chromium } from 'playwright-core';
import { launchOptions } from './chromium.mjs';

const server = await chromium.launchServer({ ...launchOptions, host: '127.0.0.1', handleSIGTERM: false });
process.once('SIGTERM', async () => {
  await server.close();
  process.exit(0);
});
console.log(`listening ${server.wsEndpoint()}`);
