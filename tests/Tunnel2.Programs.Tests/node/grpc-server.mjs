// A gRPC service whose messages are bytes: node grpc-server.mjs. python/grpc_server.py is the same service.
// Prints its port. A call of Down with the field "watch" gets a byte for all that happens to calls that wait.
import grpc from '@grpc/grpc-js';

const READY = 0;
const WAITING = 1;
const CANCELLED = 2;

const bytes = (message) => message;
const method = (name, requestStream, responseStream) => ({
  path: `/tunnel2.Echo/${name}`,
  requestStream,
  responseStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});

const watchers = new Set();
const report = (what) => watchers.forEach((watcher) => watcher.write(Buffer.of(what)));
const has = (call, name) => call.metadata.get(name).length > 0;

/** The status that the request asks for, or null. */
function failureOf(call) {
  if (has(call, 'large')) {
    // node sends no more than 64 KiB of fields, and a call that has more stands still.
    return { code: grpc.status.UNIMPLEMENTED, details: 'node cannot send so much metadata' };
  }
  const [code] = call.metadata.get('fail');
  return code === undefined ? null : { code: Number(code), details: String(call.metadata.get('why-bin')[0] ?? '') };
}

/** The fields to send back, as head and as trailers. */
function echoesOf(call) {
  const head = new grpc.Metadata();
  const trailers = new grpc.Metadata();
  for (const name of Object.keys(call.metadata.getMap()).filter((key) => key.startsWith('echo-'))) {
    call.metadata.get(name).forEach((value) => (name.startsWith('echo-trailer') ? trailers : head).add(name, value));
  }
  return { head, trailers };
}

/** The message itself, or as many bytes as it asks for. */
const answerTo = (call, message) => (has(call, 'sized') ? Buffer.alloc(message.readInt32LE(0)) : message);

function waitUntilCancelled(call) {
  call.on('cancelled', () => report(CANCELLED));
  report(WAITING);
}

const server = new grpc.Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
server.addService(
  {
    Unary: method('Unary', false, false),
    Down: method('Down', false, true),
    Up: method('Up', true, false),
    Both: method('Both', true, true),
  },
  {
    Unary(call, callback) {
      const failure = failureOf(call);
      if (failure) {
        callback(failure);
        return;
      }
      if (has(call, 'wait')) {
        waitUntilCancelled(call);
        return;
      }
      const { head, trailers } = echoesOf(call);
      call.sendMetadata(head);
      callback(null, answerTo(call, call.request), trailers);
    },

    async Down(call) {
      if (has(call, 'watch')) {
        watchers.add(call);
        call.on('cancelled', () => watchers.delete(call));
        call.write(Buffer.of(READY));
        return;
      }
      for (const message of messagesOf(call)) {
        if (!call.write(message)) {
          await new Promise((resolve) => {
            call.once('drain', resolve);
            call.once('cancelled', resolve);
          });
        }
        if (call.cancelled) {
          return;
        }
      }
      if (has(call, 'wait')) {
        waitUntilCancelled(call);
      } else {
        call.end();
      }
    },

    Up(call, callback) {
      let sum = 0;
      call.on('data', (message) => { sum += message.length; });
      call.on('end', () => {
        const answer = Buffer.alloc(8);
        answer.writeBigInt64LE(BigInt(sum));
        callback(null, answer);
      });
    },

    Both(call) {
      const failure = failureOf(call);
      const { head, trailers } = echoesOf(call);
      call.sendMetadata(head);
      call.on('data', (message) => {
        if (failure) {
          call.emit('error', failure);
        } else if (!call.write(answerTo(call, message))) {
          call.pause();
          call.once('drain', () => call.resume());
        }
      });
      call.on('end', () => call.end(trailers));
    },
  },
);

/** Numbered messages, as many as the request says; or one of each length in it. */
function* messagesOf(call) {
  const { request } = call;
  if (has(call, 'sized')) {
    for (let i = 0; i < request.length; i += 4) {
      yield Buffer.alloc(request.readInt32LE(i));
    }
    return;
  }
  for (let i = 0; i < request.readInt32LE(0); i++) {
    const message = Buffer.alloc(4);
    message.writeInt32LE(i);
    yield message;
  }
}

server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) {
    throw error;
  }
  console.log(`listening ${port}`);
});
