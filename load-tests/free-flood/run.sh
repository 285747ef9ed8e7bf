#!/usr/bin/env bash
# One session of tier free (10 requests a second) flooded with 1,000 a second beside another one with 200 a second: how many of the flood are answered,
# how many refused with 429, and the p99 of the other session with the flood and without, in turns. On loopback, shipped settings but the tokens.
# A third turn sends the same flood to an nginx that refuses it (limit_req) and has nothing to do with the other session: what is left of the
# difference is the cores that both share. Needs Debian's nginx-light, nghttp2-client, curl and jq.
#
#   load-tests/free-flood/run.sh [rounds, default 5] [seconds, default 20]
#
# TUNNEL2_ENGINE=portable measures the other engine. Ports 18390 and 18394-18397 must be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-5} seconds=${2:-20}
dotnet build -c Release -v quiet --nologo load-tests/Tunnel2.LoadTests
entry=src/Tunnel2.ProxyEntry/bin/Release/net10.0/tunnel2-entry.dll

token() { dotnet "$entry" token create --name "$1" >"$work/$1.token"; }
token free
token other
secret() { grep -oE 't2_[A-Za-z0-9_-]+' "$work/$1.token" | head -1; }
hash() { grep -oE 'sha256:[0-9a-f]{64}' "$work/$1.token" | head -1; }

dotnet load-tests/Tunnel2.TestBackend/bin/Release/net10.0/tunnel2-testbackend.dll --listen 127.0.0.1:18390 --engine event-loop >"$work/backend.log" &
pids+=($!)
start_entry entry 18394 "--Tunnel2:Agents:free:TokenHash=$(hash free)" --Tunnel2:Agents:free:Tier=free \
    "--Tunnel2:Agents:other:TokenHash=$(hash other)" --Tunnel2:Agents:other:Tier=enterprise
for name in free other; do
    TUNNEL2_TOKEN=$(secret "$name") start_agent "$name" 18394 18390
done
ready 18394 /bytes/1 free.localhost
ready 18394 /bytes/1 other.localhost

start_nginx limited "limit_req_zone \$server_port zone=one:1m rate=10r/s; limit_req_status 429; limit_req_log_level info;
 server { listen 127.0.0.1:18397; location / { limit_req zone=one burst=20 nodelay; proxy_pass http://127.0.0.1:18390; } }" auto
ready 18397 /bytes/1

other() { # name: one row; 200 requests a second for a minute, scaled
    dotnet load-tests/Tunnel2.LoadTests/bin/Release/net10.0/tunnel2-load.dll steady-200 --url http://127.0.0.1:18394 --host other.localhost --results "$work/$1" \
        --duration-scale "$(awk -v s="$seconds" 'BEGIN { print s / 60 }')" >"$work/$1.log" || true
    jq -r --arg name "$1" '.scenarios[0] | [$name, .flows[0].total.requests, .flows[0].total.ok, .flows[0].total.latency.p50, .flows[0].total.latency.p99,
        .generatorLag.p99] | @tsv' "$work/$1/results.json" | tee -a "$work/rows"
}

echo "who requests ok p50_ms p99_ms lag_p99_ms" | tr ' ' '\t'
flooded() { # name port host: the other session while that one is flooded
    h2load --h1 -c 10 -t1 -D $((seconds + 4)) --rps 100 --log-file "$work/flood-$1" --connect-to "127.0.0.1:$2" "http://$3:$2/bytes/1024" >/dev/null 2>&1 &
    flood=$!
    other "$1"
    wait "$flood"
    awk -v s=$((seconds + 4)) '{ n[$2]++ } END { printf "flood: %d answered, %d refused with 429, %d other, in %d s\n", n[200], n[429], NR - n[200] - n[429], s }' "$work/flood-$1"
}

# The code that refuses is compiled once, before the first round and not in it.
h2load --h1 -c 10 -t1 -D 4 --rps 100 --connect-to 127.0.0.1:18394 http://free.localhost:18394/bytes/1024 >/dev/null 2>&1

for round in $(seq "$rounds"); do
    other "idle-$round"
    flooded "flooded-$round" 18394 free.localhost
    flooded "elsewhere-$round" 18397 localhost
done

awk -F'\t' 'function median(v, n,   i, j, t) { for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t } return v[int((n + 1) / 2)] }
    $1 ~ /^idle/ { idle[++a] = $5 } $1 ~ /^flooded/ { flooded[++b] = $5 } $1 ~ /^elsewhere/ { elsewhere[++c] = $5 }
    END { x = median(idle, a); y = median(flooded, b); z = median(elsewhere, c)
        printf "p99 of the other session, medians: %.3f ms idle, %.3f ms beside the flood (%.2f), %.3f ms beside a flood of nginx (%.2f)\n", x, y, y / x, z, z / x }' "$work/rows"
