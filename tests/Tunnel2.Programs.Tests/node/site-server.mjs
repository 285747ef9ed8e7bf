// A small site on a free port of 127.0.0.1: one page with 100 assets (30 modules that import each other, 20 style sheets, 40 images and
// 10 fonts). Texts are compressed by Accept-Encoding, everything has an ETag, half of the answers are chunked. Prints "listening PORT".
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { brotliCompressSync, crc32 as zlibCrc32, deflateSync, gzipSync } from 'node:zlib';

const MODULES = 30, STYLES = 20, IMAGES = 40, FONTS = 10;
const assets = new Map();

function add(path, type, body) {
  const bytes = Buffer.from(body);
  assets.set(path, { type, bytes, tag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"` });
}

// node:zlib has crc32 only in later versions than Debian's.
const crc32 = zlibCrc32 ?? ((bytes) => {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc >>> 1) ^ (crc & 1 ? 0xEDB88320 : 0);
    }
  }
  return ~crc >>> 0;
});

/** A PNG of one colour (RFC 2083): signature, IHDR, IDAT, IEND. */
function png(size, [red, green, blue]) {
  const chunk = (type, data) => {
    const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const frame = Buffer.alloc(8 + typed.length);
    frame.writeUInt32BE(data.length, 0);
    typed.copy(frame, 4);
    frame.writeUInt32BE(crc32(typed) >>> 0, 4 + typed.length);
    return frame;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), ...Array(size).fill(Buffer.from([red, green, blue]))]);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(Array(size).fill(row)), { level: 0 })), chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A real font: the icons of the trace viewer that comes with playwright-core. */
function findFont() {
  const root = dirname(createRequire(import.meta.url).resolve('playwright-core/package.json'));
  const font = readdirSync(root, { recursive: true }).find((file) => file.endsWith('.ttf'));
  return readFileSync(join(root, font));
}

const font = findFont();
for (let i = 0; i < FONTS; i++) {
  add(`/fonts/f${i}.ttf`, 'font/ttf', font);
}
for (let i = 0; i < IMAGES; i++) {
  add(`/images/i${i}.png`, 'image/png', png(16 + i, [i * 6, 200 - i * 4, 120]));
}
for (let i = 0; i < STYLES; i++) {
  const face = i < FONTS ? `@font-face { font-family: f${i}; src: url(/fonts/f${i}.ttf?v=${i}); }\n.f${i} { font-family: f${i}; }\n` : '';
  add(`/styles/s${i}.css`, 'text/css; charset=utf-8', `${face}.s${i} { color: rgb(${i}, 1, 2); }\n${'/* padding that compresses well */\n'.repeat(i * 40)}`);
}
for (let i = 0; i < MODULES; i++) {
  const imported = i === 0 ? 'const before = 0;' : `import before from './m${i - 1}.js';`;
  add(`/modules/m${i}.js`, 'text/javascript; charset=utf-8', `${imported}\nexport default before + 1;\n${'// a line of a module\n'.repeat(i * 60)}`);
}

const numbers = (count) => Array.from({ length: count }, (_, i) => i);
add('/', 'text/html; charset=utf-8', `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>loading</title><link rel="icon" href="data:,">
${numbers(STYLES).map((i) => `<link rel="stylesheet" href="/styles/s${i}.css">`).join('\n')}
<script type="module">
import count from '/modules/m${MODULES - 1}.js';
await document.fonts.ready;
await Promise.all([...document.images].map((image) => image.decode()));
document.querySelector('#modules').textContent = count;
document.title = 'complete';
</script></head>
<body><h1>Through the tunnel: <span id="modules">0</span> modules</h1>
<p>${numbers(STYLES).map((i) => `<span class="s${i}">s${i} </span>`).join('')}</p>
<p style="font-size:24px">${numbers(FONTS).map((i) => `<span class="f${i}">&#xEA60;&#xEA6${i % 10};</span>`).join(' ')}</p>
<p>${numbers(IMAGES).map((i) => `<img src="/images/i${i}.png" alt="">`).join(' ')}</p>
</body></html>`);

const server = createServer((request, response) => {
  const asset = assets.get(request.url.split('?')[0]);
  if (!asset) {
    response.writeHead(404).end();
    return;
  }
  if (request.headers['if-none-match'] === asset.tag) {
    response.writeHead(304, { ETag: asset.tag }).end();
    return;
  }

  const accepted = request.headers['accept-encoding'] ?? '';
  const isText = asset.type.startsWith('text/');
  const encoding = isText && accepted.includes('br') ? 'br' : isText && accepted.includes('gzip') ? 'gzip' : undefined;
  const body = encoding === 'br' ? brotliCompressSync(asset.bytes) : encoding === 'gzip' ? gzipSync(asset.bytes) : asset.bytes;
  response.setHeader('Content-Type', asset.type);
  response.setHeader('ETag', asset.tag);
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('Vary', 'Accept-Encoding');
  if (encoding) {
    response.setHeader('Content-Encoding', encoding);
  }
  if (body.length % 2 === 0) {
    response.setHeader('Content-Length', body.length);
    response.end(body);
  } else {
    response.write(body.subarray(0, body.length >> 1));
    response.end(body.subarray(body.length >> 1));
  }
});
server.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`));
