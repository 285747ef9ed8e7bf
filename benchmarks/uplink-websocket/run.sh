#!/usr/bin/env bash
# What it costs when an agent's uplink goes over WebSocket to the public port (--uplink wss) in place of the uplink's own port: four tunnels at once, direct
# and over WebSocket, each with TLS and without, measured in turns with the same service (nginx, 1 KiB file) behind all. On loopback. Needs Debian's
# nginx-light, wrk and curl, and a release build of Tunnel2.sln.
#
#   benchmarks/uplink-websocket/run.sh [rounds, default 3] [seconds for each point, default 4]
#
# Prints a row for each round, then the medians, then the medians of the ratios in the same round: wss to tls, ws to plain. TUNNEL2_ENGINE=portable measures
# the other engine. Ports 18590-18604 must be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-3} seconds=${2:-4}
columns="c=1 c=50 p99_ms(c=50) cpu_us(c=50) down_MB/s"

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
head -c 536870912 /dev/urandom >"$work/www/big"
chmod -R a+rX "$work"
start_nginx service "server { listen 127.0.0.1:18590 backlog=8192; root $work/www; }"

declare -A ports=([plain]=18592 [tls]=18595 [ws]=18598 [wss]=18601) entries agents
pin=$(dotnet "$entry_folder/tunnel2-entry.dll" certificate create --host localhost --out "$work/server.pem" | grep -o 'sha256:[0-9a-f]*' | head -1)
start_entry plain 18592; entries[plain]=$started
start_entry tls 18595 "--Tunnel2:Uplink:Certificate=$work/server.pem"; entries[tls]=$started
start_entry ws 18598; entries[ws]=$started
# The certificate of the uplink is that of the public listener too.
start_entry wss 18601 "--Tunnel2:Uplink:Certificate=$work/server.pem" --Tunnel2:Public:HttpsListen=127.0.0.1:18604; entries[wss]=$started
start_agent web 18592 18590; agents[plain]=$started
start_agent web 18595 18590 --server-fingerprint "$pin"; agents[tls]=$started
start_agent web 18598 18590 --uplink wss --public-port 18598; agents[ws]=$started
start_agent web 18601 18590 --server-fingerprint "$pin" --uplink wss --public-port 18604; agents[wss]=$started
for name in plain tls ws wss; do (ready "${ports[$name]}" /s) || { cat "$work/$name.log" "$work/web-${ports[$name]}.log" >&2; exit 1; }; done
for name in ws wss; do grep -q 'over WebSocket' "$work"/web-"${ports[$name]}".log || { cat "$work"/web-"${ports[$name]}".log >&2; exit 1; }; done

load() { # port, connections, seconds: wrk's output
    local out
    out=$(wrk -t1 -c"$2" -d"${3}s" --timeout 30s --latency -H 'Host: web.localhost' "http://127.0.0.1:$1/s")
    if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors at c=$2:" >&2; echo "$out" >&2; fi
    echo "$out"
}

measure() { # name, round: a row
    local name=$1 port=${ports[$1]} row before out
    row="$(load "$port" 1 "$seconds" | awk '/Requests\/sec/{printf "%d", $2}')"
    before=$(cpu_ticks "${entries[$name]}" "${agents[$name]}")
    out=$(load "$port" 50 "$seconds")
    row+=" $(awk '/Requests\/sec/{printf "%d", $2}' <<<"$out") $(wrk_p99 <<<"$out")"
    row+=" $(cpu_us "$before" "$(cpu_ticks "${entries[$name]}" "${agents[$name]}")" "$(awk '/requests in/{print $1}' <<<"$out")")"
    row+=" $(curl -sf -o /dev/null -H 'Host: web.localhost' -w '%{speed_download}' "http://127.0.0.1:$port/big" | awk '{ printf "%d", $1 / 1000000 }')"
    echo "$name/$2 $row" | tee -a "$work/rows"
}

for name in plain tls ws wss; do load "${ports[$name]}" 50 2 >/dev/null; done
echo "who $columns"
for round in $(seq "$rounds"); do for name in plain ws tls wss; do measure "$name" "$round"; done; done
grep -E '^(tls|wss)/' "$work/rows" >"$work/rows-tls"
grep -E '^(plain|ws)/' "$work/rows" >"$work/rows-plain"
summarise "$work/rows-tls" "$columns" tls
summarise "$work/rows-plain" "$columns" plain
