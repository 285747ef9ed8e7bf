#!/usr/bin/env bash
# Runs npm's http-cache-tests (tests of HTTP caches: fields, statuses and bodies in every combination) against their own server, once directly and
# once through ProxyEntry and agent, on loopback, and compares the results test by test. Needs node, npm and curl, and a release build of Tunnel2.sln. The
# package is installed into a folder that is removed at the end.
#
#   load-tests/http-cache-tests/run.sh
#
# Where nginx is installed, a third run goes through it (one hop, nothing kept), for comparison. Ports 18100, 12100-12102 and 12110 must be free. A tunnel is no cache, so it has to do what the server does. Prints each test whose result differs, and then two counts:
# of those whose result is another (also where both fail, but by another error), and of those that pass one way and fail the other. Where the server itself breaks
# off or breaks HTTP, a visitor sees that directly and an answer of ProxyEntry's own through, which is meant (docs/decisions/0026): these are counted apart. The exit
# code is 0 when at most CACHE_DIFFERENCES (0) others differ, and when only tests of stale-close-* pass one way and fail the other.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
most=${CACHE_DIFFERENCES:-0}

(cd "$work" && npm install --silent --no-audit --no-fund --ignore-scripts http-cache-tests >/dev/null)
engine=$work/node_modules/http-cache-tests
if [[ -d $engine/test-engine ]]; then engine=$engine/test-engine; fi
# The visitor calls a name under localhost, which not every system resolves.
cat >"$work/names.cjs" <<'N'
const dns = require('dns')
const lookup = dns.lookup
dns.lookup = (name, options, done) => {
  if (typeof options === 'function') [options, done] = [{}, options]
  if (!name.endsWith('.localhost')) return lookup(name, options, done)
  return options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)
}
N

(cd "$engine" && exec env npm_config_protocol=http npm_config_port=18100 npm_config_pidfile="$work/server.pid" node server/server.mjs) >"$work/server.log" 2>&1 &
pids+=("$!")
start_entry entry 12100
start_agent web 12100 18100
ready 12100 /test-browser.html

run() { # base: results
    (cd "$engine" && env npm_config_base="$1" npm_config_id='' npm_package_config_id='' NODE_OPTIONS="--no-warnings --require=$work/names.cjs" timeout 900 node cli.mjs)
}
run http://127.0.0.1:18100 >"$work/direct.json"
run http://web.localhost:12100 >"$work/through.json"
if command -v nginx >/dev/null; then
    cat >"$work/nginx.conf" <<C
daemon off; worker_processes 1; error_log $work/nginx.log crit; pid $work/nginx.pid;
events { worker_connections 1000; }
http {
    access_log off; client_body_temp_path $work/nginx-body; proxy_temp_path $work/nginx-proxy;
    upstream service { server 127.0.0.1:18100; keepalive 100; }
    server {
        listen 127.0.0.1:12110;
        location / {
            proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host \$http_host; proxy_buffering off;
        }
    }
}
C
    nginx -p "$work" -c "$work/nginx.conf" &
    pids+=("$!")
    for _ in {1..50}; do curl -fs -o "$work/page" http://127.0.0.1:12110/test-browser.html && break || sleep 0.1; done
    run http://127.0.0.1:12110 >"$work/nginx.json"
fi
node - "$work/direct.json" "$work/through.json" "$most" "$work/nginx.json" <<'N'
const { existsSync, readFileSync } = require('fs')
const read = file => {
  const text = readFileSync(file, 'utf8')
  return JSON.parse(text.slice(text.indexOf('{')))
}
const [direct, through] = process.argv.slice(2, 4).map(read)
const kind = result => Array.isArray(result) ? result[0] : result
const names = [...new Set([...Object.keys(direct), ...Object.keys(through)])]
const differing = names.filter(name => String(kind(direct[name])) !== String(kind(through[name])))
for (const name of differing) console.log(`${name}: ${JSON.stringify(direct[name])} directly, ${JSON.stringify(through[name])} through`)
const broken = differing.filter(name => kind(direct[name]) === 'FetchError')
const judged = differing.filter(name => (direct[name] === true) !== (through[name] === true))
console.log(`${names.length} tests, ${differing.length} differ, ${broken.length} of them where the server breaks off or breaks HTTP`)
console.log(`${judged.length} pass one way and fail the other: ${judged.join(' ')}`)
if (existsSync(process.argv[5])) {
  const nginx = read(process.argv[5])
  const others = names.filter(name => String(kind(direct[name])) !== String(kind(nginx[name])))
  console.log(`${others.length} differ through nginx: ${others.join(' ')}`)
}
process.exit(differing.length - broken.length <= Number(process.argv[4]) && judged.every(name => name.startsWith('stale-close')) ? 0 : 1)
N
