// WebSockets of a page in Debian's chromium against ws-server.mjs: node ws-page.mjs URL. Prints "ok NAME" for each check and
// "handshakes STATUS…".
import assert from 'node:assert/strict';
import { runWithPage, watchHandshakes } from './chromium.mjs';

const url = process.argv[2];
await runWithPage(async (page) => {
  const handshakes = await watchHandshakes(page);
  // The server is no web server: its page says so, and the connection stands.
  await page.goto(url, { timeout: 40_000 }).catch(() => {});
  await page.evaluate(() => {
    window.open2 = (path) => new Promise((resolve, reject) => {
      const socket = new WebSocket(new URL(path, location.href.replace(/^http/, 'ws')));
      socket.binaryType = 'arraybuffer';
      socket.onopen = () => resolve(socket);
      socket.onerror = () => reject(new Error(`${path} was not opened`));
    });
    window.next = (socket) => new Promise((resolve, reject) => {
      socket.onmessage = ({ data }) => resolve(data);
      socket.onclose = ({ code }) => reject(new Error(`closed with ${code}`));
    });
    window.ended = (socket) => new Promise((resolve) => { socket.onclose = ({ code, reason, wasClean }) => resolve([code, reason, wasClean]); });
  });

  const check = async (name, run, argument) => {
    await page.evaluate(run, argument);
    console.log(`ok ${name}`);
  };
  await check('1000 messages come back in order', async () => {
    const socket = await open2('/echo');
    const all = new Promise((resolve, reject) => {
      let count = 0;
      socket.onmessage = ({ data }) => (data !== `message ${count}` ? reject(new Error(data)) : ++count === 1000 && resolve());
      socket.onclose = ({ code }) => reject(new Error(`closed with ${code}`));
    });
    for (let i = 0; i < 1000; i++) {
      socket.send(`message ${i}`);
    }
    await all;
    const end = ended(socket);
    socket.close(1000);
    await end;
  });
  await check('binary messages of 2 MB come back with the same digest', async () => {
    const digest = async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).join();
    const socket = await open2('/echo');
    for (let round = 0; round < 3; round++) {
      const bytes = new Uint8Array(2_000_000);
      for (let i = 0; i < bytes.length; i += 65_536) {
        crypto.getRandomValues(bytes.subarray(i, i + 65_536));
      }
      const back = next(socket);
      socket.send(bytes);
      if (await digest(await back) !== await digest(bytes)) {
        throw new Error('other bytes came back');
      }
    }
    socket.close();
  });
  await check('the extension is negotiated', async () => {
    const socket = await open2('/extensions');
    if (!socket.extensions.startsWith('permessage-deflate')) {
      throw new Error(`extensions '${socket.extensions}'`);
    }
    socket.close();
  });
  for (const [code, reason] of [[1000, 'done'], [1001, 'going away'], [3000, ''], [4999, 'our own: Grüße']]) {
    await check(`the server closes with ${code}`, async ([code, reason]) => {
      const socket = new WebSocket(new URL(`/close?code=${code}&reason=${encodeURIComponent(reason)}`, location.href.replace(/^http/, 'ws')));
      const end = await ended(socket);
      if (JSON.stringify(end) !== JSON.stringify([code, reason, true])) {
        throw new Error(`closed with ${end}`);
      }
    }, [code, reason]);
  }
  await check('the page closes with 4999', async () => {
    const socket = await open2('/echo');
    const end = ended(socket);
    socket.close(4999, 'page');
    if (JSON.stringify(await end) !== JSON.stringify([4999, 'page', true])) {
      throw new Error(`closed with ${await end}`);
    }
  });
  await check('a refused WebSocket is not opened', async () => {
    const opened = await open2('/refused').then(() => true, () => false);
    if (opened) {
      throw new Error('opened');
    }
  });
  await check('100 WebSockets at once keep to themselves', async () => {
    await Promise.all(Array.from({ length: 100 }, async (_, i) => {
      const socket = await open2('/echo');
      for (let round = 0; round < 5; round++) {
        const back = next(socket);
        socket.send(`${i}:${round}`);
        if (await back !== `${i}:${round}`) {
          throw new Error('an answer of another');
        }
      }
      socket.close();
    }));
  });
  assert.ok(handshakes.length > 100);
  console.log(`handshakes ${[...new Set(handshakes)].join(' ')}`);
});
