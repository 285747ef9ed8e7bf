// WebSockets by two implementations of node: ws and undici. python/websocket_stacks.py does the same by others.
// node websocket-stacks.mjs server ws | client ws|undici PORT HOST RUN
import assert from 'node:assert/strict';
import * as undici from 'undici';
import * as ws from 'ws';

const LARGEST = 4 * 1024 * 1024;
const TEXTS = ['a message', '', 'Grüße, 世界 👋', 'x'.repeat(70_000)];
const LENGTHS = [0, 1, 125, 126, 65_535, 65_536, 1_048_576];
const CLOSES = [[4002, 'enough'], [1000, ''], [1011, 'Grüße']];
const [role, stack, port, host, run] = process.argv.slice(2);

const report = (tag, code, reason) => console.log(`closed ${tag} ${code} ${reason}`.trimEnd());

function serve() {
  const server = new ws.WebSocketServer({ host: '127.0.0.1', port: 0, maxPayload: LARGEST, perMessageDeflate: { threshold: 1024 } });
  server.on('listening', () => console.log(`listening ${server.address().port}`));
  server.on('connection', (socket, request) => {
    const url = new URL(request.url, 'http://localhost');
    const query = url.searchParams;
    socket.on('close', (code, reason) => report(query.get('tag'), code, reason));
    if (url.pathname === '/close') {
      socket.close(Number(query.get('code')), query.get('reason') ?? '');
    } else {
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    }
  });
}

/** The next event of a kind; both implementations have the interface of browsers. */
const next = (socket, kind) => new Promise((resolve) => { socket.addEventListener(kind, resolve, { once: true }); });

async function open(path) {
  const { WebSocket } = stack === 'ws' ? ws : undici;
  const socket = new WebSocket(`ws://${host}${path}`);
  socket.binaryType = 'arraybuffer';
  const ended = next(socket, 'close').then(({ code, reason }) => [code, reason]);
  if (!path.startsWith('/close')) {
    await next(socket, 'open');
  }
  return { socket, ended };
}

async function visit() {
  const { socket, ended } = await open(`/echo?tag=${run}.1`);
  const binaries = LENGTHS.map((length) => Uint8Array.from({ length }, (_, i) => i % 251));
  for (const message of [...TEXTS, ...binaries]) {
    const answer = next(socket, 'message');
    socket.send(message);
    const { data } = await answer;
    assert.deepEqual(typeof message === 'string' ? data : new Uint8Array(data), message);
    console.log(`echo ${typeof message === 'string' ? 'text' : 'binary'} ${message.length}`);
  }
  socket.close(4001, 'bye');
  report(`${run}.1`, ...await ended);
  for (const [index, [code, reason]] of CLOSES.entries()) {
    const closed = await open(`/close?tag=${run}.${index + 2}&code=${code}&reason=${encodeURIComponent(reason)}`);
    report(`${run}.${index + 2}`, ...await closed.ended);
  }
}

if (role === 'server') {
  serve();
} else {
  await visit();
  process.exit(0);
}
