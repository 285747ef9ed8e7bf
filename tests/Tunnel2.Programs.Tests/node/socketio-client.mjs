// socket.io's own client against socketio-server.mjs: node --import ./localhost.mjs socketio-client.mjs URL.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { io } from 'socket.io-client';
import { check, runChecks } from './checks.mjs';

const url = process.argv[2];
const connect = async (options) => {
  const socket = io(url, { forceNew: true, reconnection: false, ...options });
  await Promise.race([once(socket, 'connect'), once(socket, 'connect_error').then(([error]) => Promise.reject(error))]);
  return socket;
};

for (const transport of ['polling', 'websocket']) {
  check(`500 messages over ${transport}, in order`, async () => {
    const socket = await connect({ transports: [transport] });
    const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => new Promise((resolve) => {
      socket.emit('echo', `message ${i} Grüße`, (text, used) => resolve([text, used]));
    })));
    assert.deepEqual(answers, Array.from({ length: 500 }, (_, i) => [`message ${i} Grüße`, transport]));
    socket.close();
  });

  check(`a megabyte of bytes over ${transport}`, async () => {
    const socket = await connect({ transports: [transport] });
    const bytes = randomBytes(1024 * 1024);
    const back = once(socket, 'binary');
    socket.emit('binary', bytes);
    assert.ok(bytes.equals(Buffer.from((await back)[0])));
    socket.close();
  });
}

check('a connection that begins with polling and goes over to WebSocket', async () => {
  const socket = await connect({});
  if (socket.io.engine.transport.name !== 'websocket') {
    await once(socket.io.engine, 'upgrade');
  }
  const used = await new Promise((resolve) => { socket.emit('echo', '', (_, name) => resolve(name)); });
  assert.equal(used, 'websocket');
  socket.close();
});

check('the server ends the connection', async () => {
  const socket = await connect({});
  socket.emit('leave');
  const [reason] = await once(socket, 'disconnect');
  assert.equal(reason, 'io server disconnect');
});

await runChecks();
