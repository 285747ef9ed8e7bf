// git http-backend behind a small CGI host: node git-server.mjs FOLDER serves the repositories in the folder. Prints "listening PORT".
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const environment = {
    PATH: process.env.PATH,
    GIT_PROJECT_ROOT: process.argv[2],
    GIT_HTTP_EXPORT_ALL: '1',
    REQUEST_METHOD: request.method,
    PATH_INFO: decodeURIComponent(url.pathname),
    QUERY_STRING: url.search.slice(1),
    REMOTE_ADDR: request.socket.remoteAddress,
    REMOTE_USER: 'tester',
    CONTENT_TYPE: request.headers['content-type'] ?? '',
    HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
    GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
  };
  // Without a length (the chunked coding) it reads to the end of its input (RFC 3875 section 4.1.2).
  if (request.headers['content-length'] !== undefined) {
    environment.CONTENT_LENGTH = request.headers['content-length'];
  } else if (request.headers['transfer-encoding'] !== undefined) {
    console.log('chunked request');
  }

  const child = spawn('git', ['http-backend'], { env: environment, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {});
  request.pipe(child.stdin);
  let head = Buffer.alloc(0);
  const onHead = (bytes) => {
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) {
      return;
    }
    child.stdout.off('data', onHead);
    let status = 200;
    for (const line of head.subarray(0, end).toString('latin1').split('\r\n')) {
      const [name, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()];
      if (name.toLowerCase() === 'status') {
        status = Number.parseInt(value, 10);
      } else {
        response.setHeader(name, value);
      }
    }
    response.writeHead(status);
    response.write(head.subarray(end + 4));
    child.stdout.pipe(response);
  };
  child.stdout.on('data', onHead);
});
server.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`));
