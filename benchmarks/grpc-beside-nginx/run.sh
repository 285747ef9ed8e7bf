#!/usr/bin/env bash
# Measures gRPC through a tunnel (server and agent, two processes) beside nginx `grpc_pass` with two hops, in one run: same service (ASP.NET Core, which
# sends messages of 1 KiB back), same load, in turns, on loopback. Needs Debian's nginx-light, nghttp2-client (h2load) and curl, and a release build of
# Tunnel2.sln.
#
#   benchmarks/grpc-beside-nginx/run.sh [rounds, default 3] [seconds for each point, default 5]
#
# Ports 18180-18182 and 12100-12102 must be free. Prints a row for each round, then the medians, then the medians of the ratios to nginx in the same
# round. "direct" is the service without anything before it: what the load and the service can do.
#
#   unary  50 calls at once on 50 connections (h2load)
#   one    50 calls at once on one connection (h2load)
#   both   50 streams at once, each sends a message when the last one has come back (.NET's client)
#   down   8 streams on which the service sends as fast as it can (.NET's client)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-3} seconds=${2:-5}
for tool in nginx h2load curl; do command -v "$tool" >/dev/null || { echo "$tool is not installed" >&2; exit 1; }; done
load=(dotnet benchmarks/Tunnel2.GrpcLoad/bin/Release/net10.0/tunnel2-grpcload.dll)

# A message of 1 KiB as gRPC frames it: not compressed, and its length.
{ printf '\0\0\0\4\0'; head -c 1024 /dev/zero; } >"$work/message"

"${load[@]}" serve 18180 >"$work/service.log" &
pids+=("$!")
start_nginx hop1 "$(nginx_hop2 18181 18180)"; hop1=$started
start_nginx hop2 "$(nginx_hop2 18182 18181)"; hop2=$started
start_entry entry 12100; entry=$started
start_agent web 12100 "h2c://127.0.0.1:18180"; agent=$started

unary() { # port, connections, calls at once on each
    h2load_row "$seconds" "$1" /tunnel2.Echo/Unary web.localhost -c "$2" -m "$3" -d "$work/message" \
        -H 'content-type: application/grpc' -H 'te: trailers'
}

call() { # port: whether the service answers with its trailers
    "${load[@]}" unary "$1" web.localhost 1 1 >/dev/null 2>&1
}

for port in 18180 18182 12100; do
    for attempt in $(seq 60); do call "$port" && continue 2; sleep 0.5; done
    echo "port $port does not answer" >&2
    cat "$work"/*.err "$work"/*.log >&2
    exit 1
done

measure() { # name, port, pids: one row
    local name=$1 port=$2 row result before after kind
    shift 2
    row=$name
    for kind in unary one both down; do
        before=$(cpu_ticks "$@")
        case $kind in
            unary) result=$(unary "$port" 50 1) ;;
            one) result=$(unary "$port" 1 50) ;;
            both) result=$("${load[@]}" both "$port" web.localhost 50 "$seconds") ;;
            down) result=$("${load[@]}" down "$port" web.localhost 8 "$seconds") ;;
        esac
        after=$(cpu_ticks "$@")
        read -r rate p50 p99 count <<<"$result"
        row+=" $rate"
        [[ $kind == down ]] || row+=" $p50 $p99"
        # The processor time has a second of warm-up in it, so the messages of that second are added.
        row+=" $(if (($# > 0)); then cpu_us "$before" "$after" "$((count + rate))"; else echo -; fi)"
    done
    echo "$row" | tee -a "$work/rows"
}

columns="unary/s p50_ms p99_ms cpu_us one/s p50_ms p99_ms cpu_us both/s p50_ms p99_ms cpu_us down/s cpu_us"
echo "who $columns"
for round in $(seq "$rounds"); do
    measure "direct/$round" 18180
    if ((round % 2)); then
        measure "nginx-2hop/$round" 18182 "$hop1" "$hop2"
        measure "tunnel2/$round" 12100 "$entry" "$agent"
    else
        measure "tunnel2/$round" 12100 "$entry" "$agent"
        measure "nginx-2hop/$round" 18182 "$hop1" "$hop2"
    fi
done

summarise "$work/rows" "$columns" nginx-2hop
