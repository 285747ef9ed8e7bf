// A WebSocket server of npm's ws on a free port of 127.0.0.1. Prints "listening PORT".
// /echo sends messages back as they came; /close?code=C&reason=R closes with those; /ping pings with each message it gets and sends the
// pong back as text; /extensions sends what was negotiated; /refused answers
// 401. Prints "closed PATH CODE REASON" for each connection that ended.
import { WebSocketServer } from 'ws';

const server = new WebSocketServer({
  host: '127.0.0.1', port: 0, maxPayload: 64 * 1024 * 1024,
  perMessageDeflate: { threshold: 1024 },
  verifyClient: ({ req }, accept) => (req.url === '/refused' ? accept(false, 401, 'no', { 'X-Why': 'refused' }) : accept(true)),
});
server.on('listening', () => console.log(`listening ${server.address().port}`));
server.on('connection', (socket, request) => {
  const url = new URL(request.url, 'http://localhost');
  socket.on('error', (error) => console.log(`error ${error.message}`));
  socket.on('close', (code, reason) => {
    console.log(`closed ${url.pathname} ${code} ${reason}`.trimEnd());
  });
  switch (url.pathname) {
    case '/echo':
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
      break;
    case '/close':
      socket.close(Number(url.searchParams.get('code')), url.searchParams.get('reason') ?? '');
      break;
    case '/ping':
      socket.on('pong', (payload) => socket.send(`pong ${payload}`));
      socket.on('message', (data) => socket.ping(data));
      break;
    case '/extensions':
      socket.send(socket.extensions);
      break;
    default:
      socket.close(1008, 'no such path');
  }
});
