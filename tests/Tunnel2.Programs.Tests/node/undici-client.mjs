// Checks of undici, Node's own client: fetch and WebSocket. node undici-client.mjs HTTP-URL WS-URL, both of the test backend
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, WebSocket, fetch, setGlobalDispatcher } from 'undici';
import { check, runChecks } from './checks.mjs';

const [, , http, ws] = process.argv;
setGlobalDispatcher(new Agent({ pipelining: 1, connections: 8 }));

check('fetch reads a streamed body', async () => {
  const response = await fetch(`${http}/bytes/3000000`);
  assert.equal((await response.arrayBuffer()).byteLength, 3_000_000);
});

check('fetch sends a streamed body', async () => {
  const body = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 100; i++) {
        controller.enqueue(new Uint8Array(10_000));
      }
      controller.close();
    },
  });
  const response = await fetch(`${http}/sink`, { method: 'POST', body, duplex: 'half' });
  assert.equal((await response.json()).bytes, 1_000_000);
});

check('an aborted fetch leaves the connections usable', async () => {
  for (let i = 0; i < 20; i++) {
    const controller = new AbortController();
    const response = await fetch(`${http}/sse?count=0&interval=10`, { signal: controller.signal });
    await response.body.getReader().read();
    controller.abort();
    const next = await fetch(`${http}/bytes/10`);
    assert.equal((await next.arrayBuffer()).byteLength, 10);
  }
});

check('a WebSocket echoes and closes with its code', async () => {
  const socket = new WebSocket(`${ws}/ws-echo`);
  await once(socket, 'open');
  socket.send('hello');
  const [{ data }] = await once(socket, 'message');
  assert.equal(data, 'hello');
  socket.close(4000, 'bye');
  const [{ code, reason }] = await once(socket, 'close');
  assert.deepEqual({ code, reason }, { code: 4000, reason: 'bye' });
});

await runChecks();
