// socket.io's browser client in Debian's chromium, by WebSocket alone, against socketio-server.mjs: node socketio-page.mjs URL. Prints
// "ok 200 messages by websocket" and "handshakes STATUS…".
import { runWithPage, watchHandshakes } from './chromium.mjs';

const url = process.argv[2];
await runWithPage(async (page) => {
  const handshakes = await watchHandshakes(page);
  await page.goto(new URL('/socket.io/socket.io.min.js', url).href, { timeout: 40_000 });
  await page.addScriptTag({ url: '/socket.io/socket.io.min.js' });
  await page.evaluate(async () => {
    const socket = io({ transports: ['websocket'], reconnection: false });
    await new Promise((resolve, reject) => {
      socket.on('connect', resolve);
      socket.on('connect_error', reject);
    });
    for (let i = 0; i < 200; i++) {
      const [text, used] = await new Promise((resolve) => { socket.emit('echo', `message ${i} Grüße`, (...answer) => resolve(answer)); });
      if (text !== `message ${i} Grüße` || used !== 'websocket') {
        throw new Error(`${text} by ${used}`);
      }
    }
    const left = new Promise((resolve) => { socket.on('disconnect', resolve); });
    socket.emit('leave');
    const reason = await left;
    if (reason !== 'io server disconnect') {
      throw new Error(reason);
    }
  });
  console.log('ok 200 messages by websocket');
  console.log(`handshakes ${handshakes.join(' ')}`);
});
