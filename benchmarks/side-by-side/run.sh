#!/usr/bin/env bash
# Measures Tunnel2 (server and agent, two processes) beside two nginx hops in one run: same service (nginx, 1 KiB file), same load, one after
# the other, on loopback. Needs Debian's nginx-light, wrk and curl, and a release build of Tunnel2.sln.
#
#   benchmarks/side-by-side/run.sh [rounds, default 3] [seconds for each point, default 4]
#
# TUNNEL2_ENGINE=portable measures the other engine. Ports 18080-18082 and 12000-12002 must be free. Prints a row for each round and the
# median ratios.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rounds=${1:-3} seconds=${2:-4}
work=$(mktemp -d)
pids=()
cleanup() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
ulimit -n "$(ulimit -H -n)"

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
head -c 1073741824 /dev/urandom >"$work/www/big"
chmod -R a+rX "$work"

start_nginx() { # name, server block
    cat >"$work/$1.conf" <<N
worker_processes 1; worker_rlimit_nofile 65535; error_log $work/$1.err crit; pid $work/$1.pid;
events { worker_connections 20000; }
http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 100000000; keepalive_timeout 300;
 client_body_temp_path $work/$1.b; proxy_temp_path $work/$1.p; proxy_http_version 1.1; proxy_max_temp_file_size 0;
 $2 }
N
    nginx -c "$work/$1.conf" -p "$work" -g "daemon off; user root;" 2>/dev/null &
    pids+=($!)
}

hop() { echo "upstream u { server 127.0.0.1:$2; keepalive 1200; keepalive_requests 100000000; } server { listen 127.0.0.1:$1 backlog=8192; location / { proxy_pass http://u; proxy_set_header Connection \"\"; } }"; }

cpu_ticks() { # pids of a group, their nginx workers included
    local total=0 pid child
    for pid in "$@"; do
        for child in "$pid" $(pgrep -P "$pid" || true); do
            read -r -a stat <<<"$(sed 's/.*) //' "/proc/$child/stat")"
            total=$((total + stat[11] + stat[12]))
        done
    done
    echo "$total"
}

measure() { # name, url, pids: one row
    local name=$1 url=$2 row before after requests c out
    shift 2
    row=$name
    wrk -t1 -c20 -d2s -H 'Host: web.localhost' "$url/s" >/dev/null
    for c in 1 10 50 1000; do
        before=$(cpu_ticks "$@")
        out=$(wrk -t1 -c$c -d"${seconds}s" --timeout 30s --latency -H 'Host: web.localhost' "$url/s")
        after=$(cpu_ticks "$@")
        requests=$(awk '/requests in/{print $1}' <<<"$out")
        if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors at c=$c:" >&2; echo "$out" >&2; fi
        row+=" $(awk '/Requests\/sec/{printf "%d", $2}' <<<"$out")"
        [[ $c == 50 ]] && cpu=$(awk -v t=$((after - before)) -v n="$requests" -v h="$(getconf CLK_TCK)" 'BEGIN{printf "%.1f", t * 1000000 / h / n}')
    done
    row+=" $cpu $(curl -s -o /dev/null -H 'Host: web.localhost' -w '%{speed_download}' "$url/big" | awk '{printf "%d", $1 / 1000000}')"
    echo "$row" | tee -a "$work/rows"
}

ready() { for _ in $(seq 150); do curl -sf -o /dev/null -H 'Host: web.localhost' "$1/s" && return; sleep 0.2; done; echo "$1 does not answer" >&2; exit 1; }

start_nginx service "server { listen 127.0.0.1:18080 backlog=8192 reuseport; root $work/www; }"
start_nginx hop1 "$(hop 18081 18080)"; hop1=$!
start_nginx hop2 "$(hop 18082 18081)"; hop2=$!
ready http://127.0.0.1:18082
echo "who c=1 c=10 c=50 c=1000 cpu_us(c=50) down_MB/s"
for round in $(seq "$rounds"); do
    measure "nginx-2hop/$round" http://127.0.0.1:18082 "$hop1" "$hop2"
    dotnet src/Tunnel2.ProxyEntry/bin/Release/net10.0/tunnel2-entry.dll ${TUNNEL2_ENGINE:+--Tunnel2:Engine=$TUNNEL2_ENGINE} >"$work/entry.log" &
    entry=$!
    pids+=("$entry")
    dotnet src/Tunnel2.Client/bin/Release/net10.0/tunnel2.dll http 18080 --name web >"$work/agent.log" &
    agent=$!
    pids+=("$agent")
    ready http://127.0.0.1:12000
    measure "tunnel2/$round" http://127.0.0.1:12000 "$entry" "$agent"
    kill "$agent" "$entry"
    wait "$agent" "$entry" 2>/dev/null || true
done

awk '{ split($1, who, "/"); for (i = 2; i <= NF; i++) value[who[1], who[2], i] = $i; if (who[2] > rounds) rounds = who[2] }
     END { printf "median of tunnel2 / nginx-2hop:";
           for (i = 2; i <= 7; i++) {
               for (r = 1; r <= rounds; r++) ratio[r] = value["tunnel2", r, i] / value["nginx-2hop", r, i];
               for (a = 1; a <= rounds; a++) for (b = a + 1; b <= rounds; b++) if (ratio[b] < ratio[a]) { t = ratio[a]; ratio[a] = ratio[b]; ratio[b] = t }
               printf " %.2f", ratio[int((rounds + 1) / 2)] }
           printf "\n" }' "$work/rows"
