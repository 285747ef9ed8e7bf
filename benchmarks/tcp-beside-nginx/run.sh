#!/usr/bin/env bash
# Measures a tunnel of TCP (server and agent, two processes) beside nginx `stream` with two hops, in one run: same service (nginx, 1 KiB file over
# kept connections), same load, one after the other, on loopback. Needs Debian's nginx-light, libnginx-mod-stream, wrk and curl, and a release
# build of Tunnel2.sln.
#
#   benchmarks/tcp-beside-nginx/run.sh [rounds, default 3] [seconds for each point, default 5]
#
# Ports 18080-18082, 12000-12002 and 20000 must be free. Prints a row for each round, then the medians, then the medians of the ratios to nginx
# in the same round. new_conn/s: a connection for each request.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-3} seconds=${2:-5}
module=/usr/lib/nginx/modules/ngx_stream_module.so
[[ -f $module ]] || { echo "nginx has no stream module: install libnginx-mod-stream" >&2; exit 1; }

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
head -c 1073741824 /dev/urandom >"$work/www/big"
chmod -R a+rX "$work"

start_stream() { # name, port, port of what is behind: $started
    cat >"$work/$1.conf" <<N
load_module $module;
worker_processes 1; worker_rlimit_nofile 65535; error_log $work/$1.err crit; pid $work/$1.pid;
events { worker_connections 20000; }
stream { tcp_nodelay on; server { listen 127.0.0.1:$2 backlog=8192; proxy_pass 127.0.0.1:$3; } }
N
    nginx -c "$work/$1.conf" -p "$work" -g "daemon off; user root;" 2>>"$work/$1.err" &
    started=$!
    pids+=("$started")
}

measure() { # name, port, pids: one row
    local name=$1 port=$2 row before after out cpu=- c
    shift 2
    row=$name
    wrk -t1 -c20 -d2s "http://127.0.0.1:$port/s" >/dev/null
    for c in 1 10 50 1000; do
        before=$(cpu_ticks "$@")
        out=$(wrk -t1 -c$c -d"${seconds}s" --timeout 30s --latency "http://127.0.0.1:$port/s")
        after=$(cpu_ticks "$@")
        if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors at c=$c:" >&2; echo "$out" >&2; fi
        row+=" $(awk '/Requests\/sec/{printf "%d", $2}' <<<"$out")"
        [[ $c == 50 ]] && cpu=$(cpu_us "$before" "$after" "$(awk '/requests in/{print $1}' <<<"$out")")
    done
    row+=" $(wrk_p99 <<<"$out") $cpu $(resident "$@")"
    row+=" $(wrk -t1 -c50 -d"${seconds}s" -H 'Connection: close' "http://127.0.0.1:$port/s" | awk '/Requests\/sec/{printf "%d", $2}')"
    row+=" $(for _ in 1 2 3; do curl -sf -o /dev/null -w '%{speed_download}\n' "http://127.0.0.1:$port/big"; done | sort -n | awk 'END { printf "%d", $1 / 1000000 }')"
    echo "$row" | tee -a "$work/rows"
}

start_nginx service "server { listen 127.0.0.1:18080 backlog=8192 reuseport; root $work/www; }"
start_stream hop1 18081 18080; hop1=$started
start_stream hop2 18082 18081; hop2=$started
ready 18082 /s
columns="c=1 c=10 c=50 c=1000 p99_ms(c=1000) cpu_us(c=50) rss_MB new_conn/s down_MB/s"
echo "who $columns"
for round in $(seq "$rounds"); do
    measure "nginx-2hop/$round" 18082 "$hop1" "$hop2"
    start_entry entry 12000 --Tunnel2:Tcp:Ports=20000; entry=$started
    dotnet "$agent_folder/tunnel2.dll" tcp 18080 --name web --remote-port 20000 --server 127.0.0.1:12001 >"$work/agent.log" &
    agent=$!
    pids+=("$agent")
    ready 20000 /s
    measure "tunnel2/$round" 20000 "$entry" "$agent"
    stop "$agent" "$entry"
done

summarise "$work/rows" "$columns" nginx-2hop
