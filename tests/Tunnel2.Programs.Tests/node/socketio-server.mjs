// An npm socket.io server on a free port of 127.0.0.1: answers "echo" with what it got and the transport, and "binary" with the same bytes.
// Prints "listening PORT".
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const http = createServer();
const io = new Server(http, { maxHttpBufferSize: 4 * 1024 * 1024 });
io.on('connection', (socket) => {
  socket.on('echo', (text, answer) => answer(text, socket.conn.transport.name));
  socket.on('binary', (bytes) => socket.emit('binary', bytes));
  socket.on('leave', () => socket.disconnect(true));
});
http.listen(0, '127.0.0.1', () => console.log(`listening ${http.address().port}`));
