// Calls of all kinds to the service of grpc-server.mjs: node grpc-client.mjs ADDRESS AUTHORITY MESSAGES. python/grpc_client.py makes the same.
// Many are the cases of gRPC's own tests of interoperability, which have the names in the comments.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import grpc from '@grpc/grpc-js';
import { check, runChecks } from './checks.mjs';

const READY = 0;
const WAITING = 1;
const CANCELLED = 2;

const [address, authority, messages] = process.argv.slice(2);
const count = Number(messages);
const { status } = grpc;
const options = {
  'grpc.default_authority': authority,
  'grpc.enable_http_proxy': 0,
  'grpc.keepalive_time_ms': 1000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
};
const connect = (more = {}) => new grpc.Client(address, grpc.credentials.createInsecure(), { ...options, ...more });
const client = connect();

const bytes = (message) => message;
const path = (name) => (name.startsWith('/') ? name : `/tunnel2.Echo/${name}`);
const int32 = (...values) => Buffer.from(Int32Array.from(values).buffer);

function metadataOf(fields) {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(fields)) {
    [value].flat().forEach((one) => metadata.add(name, one));
  }
  return metadata;
}

/** A message whose answer is to have a length. */
function sized(length, answer) {
  const message = Buffer.alloc(length);
  message.writeInt32LE(answer);
  return message;
}

/** All of a call with one answer at most: the answer, the head and the status with the trailers. */
function finish(start) {
  return new Promise((resolve) => {
    const result = {};
    const call = start((error, answer) => { result.answer = answer; });
    call.on('metadata', (head) => { result.head = head; });
    call.on('status', (end) => resolve({ ...result, code: end.code, details: end.details, trailers: end.metadata }));
  });
}

const unary = (message, fields = {}, { method = 'Unary', deadline, by = client } = {}) => finish((done) =>
  by.makeUnaryRequest(path(method), bytes, bytes, message, metadataOf(fields), { deadline }, done));

/** The messages of a stream, one after the other; its end is null. */
function reader(call) {
  const arrived = [];
  const waiting = [];
  const ended = new Promise((resolve) => { call.on('status', resolve); });
  const put = (item) => (waiting.length > 0 ? waiting.shift()(item) : arrived.push(item));
  call.on('data', put);
  call.on('end', () => put(null));
  call.on('error', () => put(null));
  return { ended, next: () => (arrived.length > 0 ? Promise.resolve(arrived.shift()) : new Promise((resolve) => { waiting.push(resolve); })) };
}

/** What a watch sees next; a watch that ends early says how. */
const eventOf = async ({ next, ended }) => {
  const event = await next();
  if (event === null) {
    const { code, details } = await ended;
    assert.fail(`the watch ended with ${code}: ${details}`);
  }
  return event[0];
};

const down = (message, fields = {}, more = {}) =>
  client.makeServerStreamRequest(path('Down'), bytes, bytes, message, metadataOf(fields), more);
const both = (fields = {}, more = {}) => client.makeBidiStreamRequest(path('Both'), bytes, bytes, metadataOf(fields), more);

// empty_unary
check('an empty message', async () => {
  const { code, answer } = await unary(Buffer.alloc(0));
  assert.deepEqual([code, answer.length], [status.OK, 0]);
});

// large_unary
check('a large message and a larger answer', async () => {
  const { code, answer } = await unary(sized(271_828, 314_159), { sized: '1' });
  assert.deepEqual([code, answer.length], [status.OK, 314_159]);
});

check('a message of 16 MiB', async () => {
  const message = randomBytes(16 * 1024 * 1024);
  assert.equal(message.compare((await unary(message)).answer), 0);
});

// client_compressed_unary
check('a compressed message', async () => {
  const compressing = connect({ 'grpc.default_compression_algorithm': grpc.compressionAlgorithms.gzip });
  const message = Buffer.alloc(100_000, 'compressible ');
  assert.equal(message.compare((await unary(message, {}, { by: compressing })).answer), 0);
  compressing.close();
});

// client_streaming
check('the client streams', async () => {
  const { code, answer } = await finish((done) => {
    const call = client.makeClientStreamRequest(path('Up'), bytes, bytes, new grpc.Metadata(), {}, done);
    [27_182, 8, 1_828, 45_904].forEach((length) => call.write(Buffer.alloc(length)));
    call.end();
    return call;
  });
  assert.deepEqual([code, answer.readBigInt64LE(0)], [status.OK, 74_922n]);
});

// server_streaming
check('the service streams', async () => {
  const call = down(int32(31_415, 9, 2_653, 58_979), { sized: '1' });
  const { next, ended } = reader(call);
  for (const length of [31_415, 9, 2_653, 58_979]) {
    assert.equal((await next()).length, length);
  }
  assert.equal(await next(), null);
  assert.equal((await ended).code, status.OK);
});

check('the service streams many', async () => {
  const { next, ended } = reader(down(int32(count)));
  for (let i = 0; i < count; i++) {
    assert.equal((await next()).readInt32LE(0), i);
  }
  assert.equal(await next(), null);
  assert.equal((await ended).code, status.OK);
});

// ping_pong
check('both stream in turns', async () => {
  const call = both({ sized: '1' });
  const { next, ended } = reader(call);
  for (const [length, answer] of [[27_182, 31_415], [8, 9], [1_828, 2_653], [45_904, 58_979]]) {
    call.write(sized(length, answer));
    assert.equal((await next()).length, answer);
  }
  call.end();
  assert.equal(await next(), null);
  assert.equal((await ended).code, status.OK);
});

// empty_stream
check('a stream without a message', async () => {
  const call = both();
  const { next, ended } = reader(call);
  call.end();
  assert.equal(await next(), null);
  assert.equal((await ended).code, status.OK);
});

check(`${count} messages both ways`, async () => {
  const call = both();
  const { next, ended } = reader(call);
  const sending = (async () => {
    for (let i = 0; i < count; i++) {
      if (!call.write(int32(i))) {
        await new Promise((resolve) => { call.once('drain', resolve); });
      }
    }
    call.end();
  })();
  for (let i = 0; i < count; i++) {
    assert.equal((await next()).readInt32LE(0), i);
  }
  await sending;
  assert.equal(await next(), null);
  assert.equal((await ended).code, status.OK);
});

// custom_metadata
check('metadata as text and as bytes', async () => {
  const data = Buffer.of(0, 1, 2, 0xfe, 0xff, 10, 13);
  const { head, trailers } = await unary(Buffer.of(1), {
    'echo-text': 'a value, with (signs)', 'echo-data-bin': data, 'echo-twice': ['1', '2'], 'echo-trailer-text': 'last', 'echo-trailer-bin': data,
  });
  assert.deepEqual(head.get('echo-text'), ['a value, with (signs)']);
  assert.deepEqual(head.get('echo-data-bin'), [data]);
  assert.deepEqual(head.get('echo-twice').flatMap((value) => value.split(/, ?/)), ['1', '2']);
  assert.deepEqual(trailers.get('echo-trailer-text'), ['last']);
  assert.deepEqual(trailers.get('echo-trailer-bin'), [data]);
});

check('metadata of a stream', async () => {
  const call = both({ 'echo-text': 'first', 'echo-trailer-bin': Buffer.of(0xab, 0xab, 0xab) });
  const head = new Promise((resolve) => { call.on('metadata', resolve); });
  const { next, ended } = reader(call);
  call.write(Buffer.of(1));
  await next();
  assert.deepEqual((await head).get('echo-text'), ['first']);
  call.end();
  assert.deepEqual((await ended).metadata.get('echo-trailer-bin'), [Buffer.of(0xab, 0xab, 0xab)]);
});

// status_code_and_message, special_status_message: answers of trailers alone
for (const words of ['test status message', '\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \u{1f608}\t\n', '100 %', '']) {
  check(`a status with the words ${JSON.stringify(words)}`, async () => {
    const { code, details } = await unary(Buffer.of(1), { fail: '2', 'why-bin': Buffer.from(words) });
    assert.deepEqual([code, details], [status.UNKNOWN, words]);
    const call = both({ fail: '2', 'why-bin': Buffer.from(words) });
    const { ended } = reader(call);
    call.write(Buffer.of(1));
    const end = await ended;
    assert.deepEqual([end.code, end.details], [status.UNKNOWN, words]);
  });
}

check('each code of a status', async () => {
  for (let wanted = 1; wanted <= 16; wanted++) {
    assert.equal((await unary(Buffer.of(1), { fail: `${wanted}` })).code, wanted);
  }
});

// unimplemented_method, unimplemented_service
check('a method and a service that are not there', async () => {
  assert.equal((await unary(Buffer.of(1), {}, { method: 'Missing' })).code, status.UNIMPLEMENTED);
  assert.equal((await unary(Buffer.of(1), {}, { method: '/tunnel2.Missing/Unary' })).code, status.UNIMPLEMENTED);
});

// cancel_after_begin
check('a call that is cancelled before its first message', async () => {
  const { code } = await finish((done) => {
    const call = client.makeClientStreamRequest(path('Up'), bytes, bytes, new grpc.Metadata(), {}, done);
    call.cancel();
    return call;
  });
  assert.equal(code, status.CANCELLED);
});

// cancel_after_first_response
check('a call that is cancelled after its first answer', async () => {
  const call = both();
  const { next, ended } = reader(call);
  call.write(Buffer.alloc(27_182));
  assert.equal((await next()).length, 27_182);
  call.cancel();
  assert.equal((await ended).code, status.CANCELLED);
});

// timeout_on_sleeping_server
check('a deadline of a millisecond', async () => {
  const call = both({}, { deadline: Date.now() + 1 });
  const { ended } = reader(call);
  call.write(Buffer.alloc(27_182));
  assert.equal((await ended).code, status.DEADLINE_EXCEEDED);
});

check('the service sees a cancellation within a tenth of a second', async () => {
  const watching = down(int32(0), { watch: '1' });
  const watch = reader(watching);
  assert.equal(await eventOf(watch), READY);
  let best = Infinity;
  for (let i = 0; i < 10; i++) {
    const call = down(int32(1), { wait: '1' });
    const { next, ended } = reader(call);
    assert.equal((await next()).readInt32LE(0), 0);
    assert.equal(await eventOf(watch), WAITING);
    const since = performance.now();
    call.cancel();
    assert.equal(await eventOf(watch), CANCELLED);
    best = Math.min(best, performance.now() - since);
    assert.equal((await ended).code, status.CANCELLED);
  }
  watching.cancel();
  await watch.ended;
  // Other programs hold up the machine, but not ten times in a row.
  assert.ok(best < 100, `${best} ms at best`);
});

check('a deadline ends the call on both sides', async () => {
  const watching = down(int32(0), { watch: '1' });
  const watch = reader(watching);
  assert.equal(await eventOf(watch), READY);
  const event = eventOf(watch);
  let began = false;
  event.then(() => { began = true; }, () => { began = true; });
  // A deadline that is over before the call has reached the service shows nothing: then the next call has longer.
  for (let limit = 300; !began; limit *= 2) {
    assert.ok(limit < 10_000, 'no call reached the service before its deadline');
    assert.equal((await unary(Buffer.of(1), { wait: '1' }, { deadline: Date.now() + limit })).code, status.DEADLINE_EXCEEDED);
  }
  assert.equal(await event, WAITING);
  assert.equal(await eventOf(watch), CANCELLED);
  watching.cancel();
  await watch.ended;
});

check('metadata of a mebibyte are refused, and the next call passes', async () => {
  const before = Buffer.of(1);
  const asked = await unary(before, { 'echo-text': 'x'.repeat(1024 * 1024) }, { deadline: Date.now() + 20_000 });
  assert.deepEqual(
    [asked.code, asked.details],
    [status.RESOURCE_EXHAUSTED, 'visitor: Request headers too large (request-head-too-large)']);
  assert.equal((await unary(before)).code, status.OK);
  const answered = await unary(before, { large: `${1024 * 1024}` }, { deadline: Date.now() + 20_000 });
  assert.ok(![status.OK, status.DEADLINE_EXCEEDED].includes(answered.code), `status ${answered.code}`);
  assert.equal((await unary(before)).code, status.OK);
});

// concurrent_large_unary
check('a hundred calls at once', async () => {
  const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => unary(Buffer.alloc(30_000, i))));
  answers.forEach(({ answer }, i) => assert.equal(answer.compare(Buffer.alloc(30_000, i)), 0));
});

await runChecks(120);
