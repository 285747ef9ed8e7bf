// A visitor of npm's ws that keeps a conversation going until the server closes: node ws-goodbye.mjs ws://HOST:PORT
// Prints "open" at the first echo, then "closed CODE" with the number of echoes; a broken frame is an error.
import { once } from 'node:events';
import { WebSocket } from 'ws';

const socket = new WebSocket(`${process.argv[2]}/echo`, { perMessageDeflate: false });
await once(socket, 'open');
const message = Buffer.alloc(200_000, 'tunnel');
let echoes = 0;
socket.on('error', (error) => console.log(`error ${error.message}`));
socket.on('message', (data) => {
  if (!message.equals(data)) {
    console.log(`error a wrong echo of ${data.length} bytes`);
  }
  if (echoes++ === 0) {
    console.log('open');
  }
  if (socket.readyState === WebSocket.OPEN) {
    socket.send(message);
  }
});
// Two under way at any time: the server always has a frame in transit.
socket.send(message);
socket.send(message);
const [code] = await once(socket, 'close');
console.log(`closed ${code} after ${echoes} echoes`);
