// Frames of every kind over node's own HTTP/2 against ws-server.mjs: node --import ./localhost.mjs ws-http2-client.mjs https://HOST:PORT.
// The frames are made here byte by byte; what comes back is read by ws's receiver.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { Receiver } from 'ws';
import { check, runChecks } from './checks.mjs';

const url = process.argv[2];
const session = connect(url, { rejectUnauthorized: false });
await once(session, 'remoteSettings');
assert.equal(session.remoteSettings.enableConnectProtocol, true);

function frame(opcode, payload, { fin = true, mask = randomBytes(4), rsv = 0 } = {}) {
  const length = payload.length;
  const head = length < 126 ? Buffer.from([0, length]) : length < 65_536 ? Buffer.from([0, 126, length >> 8, length & 255]) : Buffer.alloc(10);
  if (length >= 65_536) {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  head[0] = (fin ? 0x80 : 0) | rsv | opcode;
  head[1] |= 0x80;
  const masked = Buffer.from(payload);
  for (let i = 0; i < length; i++) {
    masked[i] ^= mask[i & 3];
  }
  return Buffer.concat([head, mask, masked]);
}

const closeFrame = (code, reason = '') => frame(8, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]));

async function open(path = '/echo', fields = {}) {
  const stream = session.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':path': path, 'sec-websocket-version': '13', ...fields });
  const [head] = await once(stream, 'response');
  const receiver = new Receiver({ isServer: false, maxPayload: 64 * 1024 * 1024 });
  stream.pipe(receiver);
  return { stream, receiver, head };
}

async function end({ stream, receiver }, code = 1000, reason = '') {
  const concluded = once(receiver, 'conclude');
  const ended = once(stream, 'close');
  stream.end(closeFrame(code, reason));
  const [got, text] = await concluded;
  assert.deepEqual([got, text.toString()], [code, reason]);
  await ended;
  assert.equal(stream.rstCode, 0);
}

check('the answer is a 200 without the words of HTTP/1.1', async () => {
  const socket = await open();
  assert.equal(socket.head[':status'], 200);
  for (const name of ['sec-websocket-accept', 'connection', 'upgrade']) {
    assert.equal(socket.head[name], undefined);
  }
  await end(socket);
});

check('lengths around the borders of the header come back', async () => {
  const socket = await open();
  for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 65_537, 3_000_000]) {
    const message = randomBytes(length);
    const answer = once(socket.receiver, 'message');
    socket.stream.write(frame(2, message));
    const [data, isBinary] = await answer;
    assert.equal(isBinary, true);
    assert.equal(createHash('sha256').update(data).digest('hex'), createHash('sha256').update(message).digest('hex'));
  }
  await end(socket);
});

check('a message in fragments with pings between them', async () => {
  const socket = await open();
  const pongs = [];
  socket.receiver.on('pong', (data) => pongs.push(data.toString()));
  const answer = once(socket.receiver, 'message');
  socket.stream.write(frame(1, Buffer.from('Gr'), { fin: false }));
  socket.stream.write(frame(9, Buffer.from('one')));
  socket.stream.write(frame(0, Buffer.from([0xC3]), { fin: false }));
  socket.stream.write(frame(0, Buffer.alloc(0), { fin: false }));
  socket.stream.write(frame(9, Buffer.alloc(125, 'x')));
  socket.stream.write(frame(0, Buffer.from([0xBC]), { fin: false }));
  socket.stream.write(frame(0, Buffer.from('ße')));
  const [data, isBinary] = await answer;
  assert.equal(data.toString(), 'Grüße');
  assert.equal(isBinary, false);
  assert.deepEqual(pongs, ['one', 'x'.repeat(125)]);
  await end(socket);
});

check('a frame byte by byte, and many frames in one piece', async () => {
  const socket = await open();
  const one = once(socket.receiver, 'message');
  for (const byte of frame(1, Buffer.from('slowly'))) {
    socket.stream.write(Buffer.from([byte]));
  }
  assert.equal((await one)[0].toString(), 'slowly');
  const texts = [];
  const all = new Promise((resolve) => { socket.receiver.on('message', (data) => texts.push(data.toString()) === 500 && resolve()); });
  socket.stream.write(Buffer.concat(Array.from({ length: 500 }, (_, i) => frame(1, Buffer.from(`m${i}`)))));
  await all;
  assert.deepEqual(texts, Array.from({ length: 500 }, (_, i) => `m${i}`));
  await end(socket);
});

check('masks of zeros and of ones', async () => {
  const socket = await open();
  for (const mask of [Buffer.alloc(4), Buffer.alloc(4, 255)]) {
    const answer = once(socket.receiver, 'message');
    socket.stream.write(frame(1, Buffer.from('masked'), { mask }));
    assert.equal((await answer)[0].toString(), 'masked');
  }
  await end(socket);
});

for (const [code, reason] of [[1000, ''], [1001, 'going away'], [1011, 'oops'], [3000, ''], [4999, 'our own: Grüße']]) {
  check(`a close with ${code} comes back`, async () => end(await open(), code, reason));
}

for (const [name, bytes, code] of [
  ['a frame without a mask', Buffer.from([0x81, 0x02, 104, 105]), 1002],
  ['a reserved opcode', frame(3, Buffer.from('x')), 1002],
  ['a reserved bit', frame(1, Buffer.from('x'), { rsv: 0x20 }), 1002],
  ['a ping in fragments', frame(9, Buffer.from('x'), { fin: false }), 1002],
  ['a ping of 126 bytes', frame(9, Buffer.alloc(126)), 1002],
  ['a continuation of nothing', frame(0, Buffer.from('x')), 1002],
  ['text that is no UTF-8', frame(1, Buffer.from([0xC3, 0x28])), 1007],
  ['a close with 1005', closeFrame(1005), 1002],
  ['a close of one byte', frame(8, Buffer.from([3])), 1002],
]) {
  check(`${name} is closed with ${code} by the server`, async () => {
    const { stream, receiver } = await open();
    const concluded = once(receiver, 'conclude');
    stream.write(bytes);
    assert.equal((await concluded)[0], code);
    stream.end();
  });
}

check('a refused WebSocket is an answer with its fields', async () => {
  const { stream, head } = await open('/refused');
  assert.deepEqual([head[':status'], head['x-why']], [401, 'refused']);
  stream.close();
});

check('200 streams at once, each with its own echo', async () => {
  await Promise.all(Array.from({ length: 200 }, async (_, i) => {
    const socket = await open();
    const answer = once(socket.receiver, 'message');
    socket.stream.write(frame(1, Buffer.from(`stream ${i}`)));
    assert.equal((await answer)[0].toString(), `stream ${i}`);
    await end(socket);
  }));
});

await runChecks();
