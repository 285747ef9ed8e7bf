#!/usr/bin/env bash
# What a path that loses packets does to a tunnel with one connection between agent and ProxyEntry, with four, and with as many as the agent opens by
# itself (--uplinks auto). One connection is what HTTP/2 CONNECT would be too: however many streams it carries, TCP holds all of them up for each lost
# packet. Agent and service are in a network namespace of their own; between the two, link.py delays each packet of IP and loses some, so it is the
# kernel's TCP that recovers. Visitors are beside ProxyEntry, and meet the path only in the tunnel. Needs root, Debian's nginx-light, wrk, curl,
# iproute2 and util-linux, and a release build of Tunnel2.sln. Nothing leaves the machine.
#
#   benchmarks/uplink-loss/run.sh [rounds, default 3] [seconds for each point, default 10] [loss in percent, default 1] [round trip in ms, default 50]
#
# CONGESTION=reno, for example, is what both ends use (one of `sysctl net.ipv4.tcp_allowed_congestion_control`); without it, the kernel's default.
# Prints a row for each round, then the medians, then the medians of the ratios to four uplinks in the same round. requests/s, p50 and p99: wrk with 50
# connections and bodies of 1 KiB. beside_p99: 10 such connections beside one download. one and four: Mbit/s of one download, and of four at once.
set -euo pipefail
if [[ ${TUNNEL2_NAMESPACE:-} != own ]]; then
    exec env TUNNEL2_NAMESPACE=own unshare --net "$(readlink -f "${BASH_SOURCE[0]}")" "$@"
fi
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-3} seconds=${2:-10} loss=${3:-1} trip=${4:-50}
columns="requests/s p50_ms p99_ms beside_p99_ms one_Mbit/s four_Mbit/s"

# The agent's side.
ip link set lo up
unshare --net sleep infinity &
far=$!
pids+=("$far")
for _ in $(seq 100); do [[ $(readlink "/proc/$far/ns/net") != "$(readlink /proc/self/ns/net)" ]] && break; sleep 0.05; done
inside=(nsenter -t "$far" -n)
"${inside[@]}" ip link set lo up
if [[ -n ${CONGESTION:-} ]]; then
    sysctl -q -w "net.ipv4.tcp_congestion_control=$CONGESTION"
    "${inside[@]}" sysctl -q -w "net.ipv4.tcp_congestion_control=$CONGESTION"
fi

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
head -c 268435456 /dev/urandom >"$work/www/big"
chmod -R a+rX "$work"
service_pinned=${inside[*]}
start_nginx service "server { listen 127.0.0.1:18390 backlog=8192; root $work/www; }"
echo "loss $loss %, round trip $trip ms, $(sysctl -n net.ipv4.tcp_congestion_control)"

download() { # file for its bytes per second: what arrives in the time
    curl -s -o /dev/null -m "$seconds" -H 'Host: web.localhost' -w '%{speed_download}\n' http://127.0.0.1:18391/big >"$1" || true
}

megabits() { # files: their sum
    cat "$@" | awk '{ sum += $1 } END { printf "%.1f", sum * 8 / 1000000 }'
}

load() { # connections, seconds: wrk's output
    local out
    out=$(wrk -t1 -c"$1" -d"${2}s" --timeout 30s --latency -H 'Host: web.localhost' http://127.0.0.1:18391/s)
    if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors:" >&2; echo "$out" >&2; fi
    echo "$out"
}

quantile() { # 50 or 99, wrk's output on standard input: ms
    awk -v q="$1%" '$1 == q { u = $2; v = u + 0; if (u ~ /us$/) v /= 1000; else if (u !~ /ms$/) v *= 1000; printf "%.1f", v }'
}

measure() { # uplinks, round: a row
    local uplinks=$1 row out i curls=()
    start_link "$2"
    start_entry entry 18391 --Tunnel2:Uplink:Listen=10.99.0.1:18392 --Tunnel2:AllowAnonymousAgents=true; entry=$started
    for _ in $(seq 100); do pin=$(grep -o 'sha256:[0-9a-f]*' "$work/entry.log" | head -1) && [[ -n $pin ]] && break; sleep 0.2; done
    "${inside[@]}" dotnet "$agent_folder/tunnel2.dll" http 18390 --name web --server 10.99.0.1:18392 --server-fingerprint "$pin" \
        --uplinks "$uplinks" >"$work/agent.log" &
    agent=$!
    pids+=("$agent")
    ready 18391 /s
    # Windows of TCP and of streams grow, and the agent opens what it wants.
    load 50 5 >/dev/null
    out=$(load 50 "$seconds")
    row="$(awk '/Requests\/sec/{printf "%d", $2}' <<<"$out") $(quantile 50 <<<"$out") $(quantile 99 <<<"$out")"
    download "$work/one" &
    curls=("$!")
    row+=" $(load 10 "$((seconds - 1))" | quantile 99)"
    wait "${curls[@]}"
    download "$work/one"
    curls=()
    for i in 1 2 3 4; do download "$work/four-$i" & curls+=("$!"); done
    wait "${curls[@]}"
    row+=" $(megabits "$work/one") $(megabits "$work"/four-?)"
    echo "$uplinks/$2 $row" | tee -a "$work/rows"
    stop "$agent" "$entry" "$link"
    tail -n 1 "$work/link.log" >&2
}

start_link() { # seed: each kind of tunnel meets the same chances in a round
    /usr/bin/python3 benchmarks/uplink-loss/link.py "$far" "$(awk -v t="$trip" 'BEGIN { print t / 2 }')" "$loss" "$1" >"$work/link.log" &
    link=$!
    pids+=("$link")
    for _ in $(seq 100); do grep -qs ready "$work/link.log" && return; sleep 0.1; done
    echo "the link is not ready" >&2
    exit 1
}

echo "who $columns"
for round in $(seq "$rounds"); do
    for uplinks in 1 4 auto; do measure "$uplinks" "$round"; done
done
summarise "$work/rows" "$columns" 4
