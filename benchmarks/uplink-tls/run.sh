#!/usr/bin/env bash
# What TLS on the uplink costs: two tunnels at once, one with a plaintext uplink and one with TLS, measured in turns, with the same service
# (nginx, 1 KiB file) behind both; then what 200 agents a second that shake hands do to the requests of others. On loopback. Needs Debian's
# nginx-light, wrk, curl and python3, and a release build of Tunnel2.sln.
#
#   benchmarks/uplink-tls/run.sh [rounds, default 3] [seconds for each point, default 4]
#
# TUNNEL2_ENGINE=portable measures the other engine. Ports 18190-18196 must be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-3} seconds=${2:-4}

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
head -c 536870912 /dev/urandom >"$work/www/big"
chmod -R a+rX "$work"
start_nginx service "server { listen 127.0.0.1:18190; root $work/www; }"
start_entry plain 18191; plain_entry=$started
start_entry tls 18194 --Tunnel2:Uplink:Certificate=self-made; tls_entry=$started
for _ in $(seq 100); do pin=$(grep -o 'sha256:[0-9a-f]*' "$work/tls.log" | head -1) && [[ -n $pin ]] && break; sleep 0.2; done
start_agent web 18191 18190; plain_agent=$started
start_agent web 18194 18190 --server-fingerprint "$pin"; tls_agent=$started
ready 18191 /s
ready 18194 /s

measure() { # name, port, pids: a row
    local name=$1 url=http://127.0.0.1:$2 before after requests out
    shift 2
    before=$(cpu_ticks "$@")
    out=$(wrk -t1 -c50 -d"${seconds}s" --timeout 30s --latency -H 'Host: web.localhost' "$url/s")
    after=$(cpu_ticks "$@")
    requests=$(awk '/requests in/{print $1}' <<<"$out")
    if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors:" >&2; echo "$out" >&2; fi
    awk -v t=$((after - before)) -v n="$requests" -v h="$(getconf CLK_TCK)" -v s="$seconds" -v name="$name" -v p99="$(awk '/99%/{print $2}' <<<"$out")" \
        -v down="$(curl -s -o /dev/null -H 'Host: web.localhost' -w '%{speed_download}' "$url/big")" \
        'BEGIN { printf "%-10s %6d requests/s %6.1f us of CPU per request, p99 %s, down %d MB/s\n", name, n / s, t * 1000000 / h / n, p99, down / 1000000 }'
}

for port in 18191 18194; do wrk -t1 -c50 -d2s -H 'Host: web.localhost' "http://127.0.0.1:$port/s" >/dev/null; done
for round in $(seq "$rounds"); do
    measure "plain/$round" 18191 "$plain_entry" "$plain_agent"
    measure "tls/$round" 18194 "$tls_entry" "$tls_agent"
done

beside() { wrk -t1 -c10 -d"${seconds}s" --latency -H 'Host: web.localhost' http://127.0.0.1:18194/s | awk -v name="$1" '/99%/{p=$2} /Requests\/sec/{printf "%-32s p99 %s at %d requests/s\n", name, p, $2}'; }

beside "c=10, no handshakes"
python3 benchmarks/uplink-tls/handshakes.py 18195 200 $((seconds + 2)) &
handshakes=$!
sleep 1
beside "c=10, 200 TLS handshakes/s"
wait "$handshakes"
python3 benchmarks/uplink-tls/handshakes.py 18192 200 $((seconds + 2)) plain &
handshakes=$!
sleep 1
beside "c=10, 200 plain agents/s elsewhere"
wait "$handshakes"
