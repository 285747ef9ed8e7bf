#!/usr/bin/env bash
# A scenario of the load suite through Tunnel2 and through nginx with two hops, in turns, to the same test backend, all with shipped settings and on
# loopback: prints p99 and failures of each round, and the median of the ratios. Needs Debian's nginx-light, curl and jq.
#
#   load-tests/beside-nginx/run.sh [scenario, default steady-1000] [rounds, default 3] [more options of the load suite]
#
# TUNNEL2_ENGINE=portable measures the other engine. Ports 18290-18292 and 18294-18296 must be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
scenario=${1:-steady-1000} rounds=${2:-3}
shift $(($# < 2 ? $# : 2))
dotnet build -c Release -v quiet --nologo load-tests/Tunnel2.LoadTests

dotnet load-tests/Tunnel2.TestBackend/bin/Release/net10.0/tunnel2-testbackend.dll --listen 127.0.0.1:18290 --engine event-loop >"$work/backend.log" &
pids+=($!)
start_nginx hop1 "$(hop 18291 18290)"
start_nginx hop2 "$(hop 18292 18291)"
start_entry entry 18294
start_agent load 18294 18290
ready 18292 /bytes/1
ready 18294 /bytes/1 load.localhost

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
