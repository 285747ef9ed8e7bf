#!/usr/bin/env bash
# A scenario of the load suite through Tunnel2 and through nginx with two hops, in turns, to the same test backend, all with shipped settings and on
# loopback: prints p99 and failures of each round, and the median of the ratios. Needs Debian's nginx-light, curl and jq.
#
#   load-tests/beside-nginx/run.sh [scenario, default steady-1000] [rounds, default 3] [more options of the load suite]
#
# Ports 18290-18292 and 18294-18296 must be free.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
scenario=${1:-steady-1000} rounds=${2:-3}
shift $(($# < 2 ? $# : 2))
work=$(mktemp -d)
chmod a+rx "$work"
pids=()
cleanup() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
ulimit -n "$(ulimit -H -n)"
dotnet build -c Release -v quiet --nologo load-tests/Tunnel2.LoadTests

hop() { # port, port of what is behind
    cat >"$work/$1.conf" <<N
worker_processes 1; worker_rlimit_nofile 65535; error_log $work/$1.err crit; pid $work/$1.pid;
events { worker_connections 20000; }
http { access_log off; tcp_nodelay on; keepalive_requests 100000000; keepalive_timeout 300; client_max_body_size 0;
 client_body_temp_path $work/$1.b; proxy_temp_path $work/$1.p; proxy_http_version 1.1; proxy_max_temp_file_size 0; proxy_request_buffering off;
 upstream u { server 127.0.0.1:$2; keepalive 1200; keepalive_requests 100000000; }
 server { listen 127.0.0.1:$1 backlog=8192; location / { proxy_pass http://u; proxy_set_header Connection ""; } } }
N
    nginx -c "$work/$1.conf" -p "$work" -g "daemon off; user root;" 2>/dev/null &
    pids+=($!)
}

ready() { for _ in $(seq 150); do curl -sf -o /dev/null -H 'Host: load.localhost' "http://127.0.0.1:$1/bytes/1" && return; sleep 0.2; done; echo "$1 does not answer" >&2; exit 1; }

dotnet load-tests/Tunnel2.TestBackend/bin/Release/net10.0/tunnel2-testbackend.dll --listen 127.0.0.1:18290 --engine event-loop >"$work/backend.log" &
pids+=($!)
hop 18291 18290
hop 18292 18291
dotnet src/Tunnel2.ProxyEntry/bin/Release/net10.0/tunnel2-entry.dll --Tunnel2:Public:HttpListen=127.0.0.1:18294 --Tunnel2:Uplink:Listen=127.0.0.1:18295 \
    --Tunnel2:Admin:Listen=127.0.0.1:18296 >"$work/entry.log" &
pids+=($!)
dotnet src/Tunnel2.Client/bin/Release/net10.0/tunnel2.dll http 18290 --name load --server 127.0.0.1:18295 >"$work/agent.log" &
pids+=($!)
ready 18292
ready 18294

measure() { # name, port, more options: one row
    local name=$1 port=$2
    shift 2
    dotnet load-tests/Tunnel2.LoadTests/bin/Release/net10.0/tunnel2-load.dll "$scenario" --url "http://127.0.0.1:$port" --host load.localhost \
        --results "$work/$name" "$@" >"$work/$name.log" || true
    jq -r --arg name "$name" '.scenarios[0] | [$name, .flows[0].total.requests, .flows[0].total.ok, .flows[0].total.latency.p50, .flows[0].total.latency.p99,
        .flows[0].total.latency.max, .generatorLag.p99, (if .latenciesCount then "yes" else "no" end)] | @tsv' "$work/$name/results.json" | tee -a "$work/rows"
}

echo "who requests ok p50_ms p99_ms max_ms lag_p99_ms counts" | tr ' ' '\t'
for round in $(seq "$rounds"); do
    measure "nginx-2hop-$round" 18292 "$@"
    measure "tunnel2-$round" 18294 "$@"
done

awk -F'\t' '$1 ~ /^nginx/ { base = $5 } $1 ~ /^tunnel2/ { ratio[++n] = $5 / base }
    END { for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (ratio[j] < ratio[i]) { t = ratio[i]; ratio[i] = ratio[j]; ratio[j] = t }
          printf "p99, median of the ratios to nginx with two hops: %.2f\n", ratio[int((n + 1) / 2)] }' "$work/rows"
