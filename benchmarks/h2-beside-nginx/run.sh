#!/usr/bin/env bash
# Measures HTTP/2 visitors of a service that speaks HTTP/1.1, through a tunnel (server and agent, two processes) beside nginx with two hops (HTTP/2 to
# HTTP/1.1, then HTTP/1.1), in one run: same service (nginx, 1 KiB file), same load (h2load), in turns, on loopback. Needs Debian's nginx-light,
# nghttp2-client (h2load) and curl, and a release build of Tunnel2.sln.
#
#   benchmarks/h2-beside-nginx/run.sh [rounds, default 3] [seconds for each point, default 5]
#
# Ports 18280-18282 and 12200-12202 must be free. Prints a row for each round, then the medians, then the medians of the ratios to nginx in the same
# round: 10 connections with 20 requests at once on each, 50 with one, and one with 100.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-3} seconds=${2:-5}
for tool in nginx h2load curl; do command -v "$tool" >/dev/null || { echo "$tool is not installed" >&2; exit 1; }; done

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
chmod -R a+rX "$work"
start_nginx service "server { listen 127.0.0.1:18280 backlog=8192 reuseport; root $work/www; }"
start_nginx hop1 "$(hop 18281 18280)"; hop1=$started
second=$(hop 18282 18281)
start_nginx hop2 "${second/backlog=8192/http2 backlog=8192}"; hop2=$started
start_entry entry 12200; entry=$started
start_agent web 12200 18280; agent=$started
ready 18281 /s
ready 12200 /s

measure() { # name, port, pids: one row
    local name=$1 port=$2 row before after point
    shift 2
    row=$name
    for point in "10 20" "50 1" "1 100"; do
        read -r connections streams <<<"$point"
        before=$(cpu_ticks "$@")
        result=$(h2load_row "$seconds" "$port" /s web.localhost -c "$connections" -m "$streams")
        after=$(cpu_ticks "$@")
        read -r rate p50 p99 count <<<"$result"
        # The processor time has a second of warm-up in it, so the requests of that second are added.
        row+=" $rate $p50 $p99 $(cpu_us "$before" "$after" "$((count + rate))")"
    done
    echo "$row" | tee -a "$work/rows"
}

columns="c10m20/s p50_ms p99_ms cpu_us c50m1/s p50_ms p99_ms cpu_us c1m100/s p50_ms p99_ms cpu_us"
echo "who $columns"
for round in $(seq "$rounds"); do
    if ((round % 2)); then
        measure "nginx-2hop/$round" 18282 "$hop1" "$hop2"
        measure "tunnel2/$round" 12200 "$entry" "$agent"
    else
        measure "tunnel2/$round" 12200 "$entry" "$agent"
        measure "nginx-2hop/$round" 18282 "$hop1" "$hop2"
    fi
done

summarise "$work/rows" "$columns" nginx-2hop
