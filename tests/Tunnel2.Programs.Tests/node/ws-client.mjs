// Checks of npm's ws against ws-server.mjs: node ws-client.mjs ws://HOST:PORT
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { check, runChecks } from './checks.mjs';

const base = process.argv[2];

async function open(path, options) {
  const socket = new WebSocket(base + path, { maxPayload: 64 * 1024 * 1024, ...options });
  await once(socket, 'open');
  return socket;
}

async function close(socket, code = 1000, reason = '') {
  socket.close(code, reason);
  const [received, text] = await once(socket, 'close');
  return { code: received, reason: text.toString() };
}

check('the extension is negotiated', async () => {
  const socket = new WebSocket(`${base}/extensions`);
  const [data] = await once(socket, 'message');
  assert.equal(data.toString(), 'permessage-deflate');
  assert.equal(socket.extensions, 'permessage-deflate');
  await close(socket);
});

check('10000 messages come back in order', async () => {
  const count = 10_000;
  const socket = await open('/echo');
  const all = new Promise((resolve, reject) => {
    let next = 0;
    socket.on('message', (data, isBinary) => {
      if (isBinary || data.toString() !== `message ${next}`) {
        reject(new Error(`expected message ${next}, got ${data}`));
      } else if (++next === count) {
        resolve();
      }
    });
    socket.on('close', (code) => reject(new Error(`closed with ${code} after ${next}`)));
  });
  for (let i = 0; i < count; i++) {
    socket.send(`message ${i}`);
  }
  await all;
  socket.removeAllListeners('close');
  await close(socket);
});

for (const [name, deflate] of [['compressed', true], ['plain', false]]) {
  check(`binary messages of 1 MiB, ${name}`, async () => {
    const socket = await open('/echo', { perMessageDeflate: deflate });
    const messages = [randomBytes(1 << 20), Buffer.alloc(1 << 20, 'tunnel'), randomBytes(1 << 20), randomBytes(0), randomBytes(1), randomBytes(65_535), randomBytes(65_536)];
    for (const message of messages) {
      const answer = once(socket, 'message');
      socket.send(message);
      const [data, isBinary] = await answer;
      assert.equal(isBinary, true);
      assert.ok(data.equals(message), `a message of ${message.length} bytes came back different`);
    }
    await close(socket);
  });
}

check('a text message of 1 MiB with characters of several bytes', async () => {
  const socket = await open('/echo');
  const text = 'Grüße, 世界 👋 '.repeat(60_000);
  const answer = once(socket, 'message');
  socket.send(text);
  const [data, isBinary] = await answer;
  assert.equal(isBinary, false);
  assert.equal(data.toString(), text);
  await close(socket);
});

check('a ping of the client is answered', async () => {
  const socket = await open('/echo');
  const pong = once(socket, 'pong');
  socket.ping('from the client');
  assert.equal((await pong)[0].toString(), 'from the client');
  await close(socket);
});

check('a ping of the server is answered', async () => {
  const socket = await open('/ping');
  const answer = once(socket, 'message');
  socket.send('from the server');
  assert.equal((await answer)[0].toString(), 'pong from the server');
  await close(socket);
});

for (const [code, reason] of [[1000, ''], [1000, 'done'], [1001, 'going away'], [4000, 'our own reason: Grüße']]) {
  check(`the server closes with ${code} '${reason}'`, async () => {
    const socket = new WebSocket(`${base}/close?code=${code}&reason=${encodeURIComponent(reason)}`);
    const [received, text] = await once(socket, 'close');
    assert.equal(received, code);
    assert.equal(text.toString(), reason);
  });

  // What the server received is printed by it.
  check(`the client closes with ${code} '${reason}'`, async () => {
    const socket = await open('/echo');
    assert.deepEqual(await close(socket, code, reason), { code, reason });
  });
}

check('a connection that ends without a close is 1006 for the client', async () => {
  const socket = await open('/echo');
  socket.terminate();
  const [code] = await once(socket, 'close');
  assert.equal(code, 1006);
});

check('an answer other than 101 reaches the client', async () => {
  const socket = new WebSocket(`${base}/refused`);
  const [, response] = await once(socket, 'unexpected-response');
  assert.equal(response.statusCode, 401);
  assert.equal(response.headers['x-why'], 'refused');
  response.destroy();
});

check('50 connections at once', async () => {
  await Promise.all(Array.from({ length: 50 }, async (_, i) => {
    const socket = await open('/echo');
    for (let n = 0; n < 20; n++) {
      const answer = once(socket, 'message');
      socket.send(`${i}:${n}`);
      assert.equal((await answer)[0].toString(), `${i}:${n}`);
    }
    await close(socket);
  }));
});

check('connections that follow each other at once do not touch each other', async () => {
  await Promise.all(Array.from({ length: 8 }, async (_, i) => {
    for (let n = 0; n < 100; n++) {
      const socket = await open('/echo', { perMessageDeflate: false });
      const answer = once(socket, 'message');
      socket.send(`${i}:${n}`);
      assert.equal((await answer)[0].toString(), `${i}:${n}`);
      assert.equal((await close(socket, 4001, 'next')).code, 4001);
    }
  }));
});

await runChecks();
