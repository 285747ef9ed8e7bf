#!/usr/bin/env bash
# The queue before an uplink's writer, in the whole tunnel: the product's channel of ready streams, the literal queue of the first design
# (Channel.CreateBounded<Frame> with one writer), and Pipelines.Sockets.Unofficial under the agent's uplinks. All tunnels run at once, load goes to one after
# the other in turns, with one service (nginx, 1 KiB file) behind all. On loopback. Prints medians, and medians of the ratios to ready-streams of the same turn.
# Builds the two variants from copies of this source, so that the product's own output stays what it is.
# Needs Debian's nginx-light, wrk and curl, and a release build of Tunnel2.sln.
#
#   benchmarks/uplink-queues/run.sh [turns, default 5] [seconds for each point, default 3]
#
# BUILD=0 takes the variants of the last time. Ports 18590-18605 must be free.
#
#   ready-streams, frames                    both programs, epoll
#   ready-streams-pool, frames-pool          both programs, portable: the writer runs on the thread pool
#   pipelines                                the agent portable with Pipelines.Sockets, ProxyEntry epoll
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
turns=${1:-5} seconds=${2:-3}
variants=artifacts/uplink-queues

build() { # name, project, property
    rm -rf "${variants:?}/$1"
    mkdir -p "$variants/$1"
    git ls-files -z src benchmarks/uplink-queues 'Directory.*' global.json .editorconfig | tar --null -T - -cf - | tar -xf - -C "$variants/$1"
    for project in $2; do dotnet build -c Release "$variants/$1/src/$project" "-p:$3=true" -v quiet >&2; done
}

if [[ ${BUILD:-1} != 0 ]]; then
    build frames 'Tunnel2.ProxyEntry Tunnel2.Client' FrameChannel
    build pipelines Tunnel2.Client PipelinesSockets
fi

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
head -c 268435456 /dev/zero >"$work/www/big"
chmod -R a+rX "$work"
start_nginx service "server { listen 127.0.0.1:18590 backlog=8192; root $work/www; }"
ready 18590 /s

product_entry=$entry_folder product_agent=$agent_folder
frames_entry=$variants/frames/src/Tunnel2.ProxyEntry/bin/Release/net10.0 frames_agent=$variants/frames/src/Tunnel2.Client/bin/Release/net10.0
pipelines_agent=$variants/pipelines/src/Tunnel2.Client/bin/Release/net10.0
names=() ports=() entries=() agents=()

tunnel() { # name, folder of ProxyEntry, of the agent, engine of ProxyEntry, of the agent
    local port=$((18591 + 3 * ${#names[@]}))
    entry_folder=$2 agent_folder=$3
    TUNNEL2_ENGINE=$4 start_entry "$1" "$port"
    entries+=("$started")
    curl -sf -o /dev/null --retry 50 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$((port + 2))/health/live"
    TUNNEL2_ENGINE=$5 start_agent web "$port" 18590
    agents+=("$started")
    ready "$port" /s
    names+=("$1") ports+=("$port")
}

tunnel ready-streams "$product_entry" "$product_agent" epoll epoll
tunnel frames "$frames_entry" "$frames_agent" epoll epoll
tunnel ready-streams-pool "$product_entry" "$product_agent" portable portable
tunnel frames-pool "$frames_entry" "$frames_agent" portable portable
tunnel pipelines "$product_entry" "$pipelines_agent" epoll pipelines

wrk_of() { # connections, seconds, port
    local out
    out=$(wrk -t1 "-c$1" "-d${2}s" --timeout 30s --latency -H 'Host: web.localhost' "http://127.0.0.1:$3/s")
    if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors at c=$1, port $3:" >&2; echo "$out" >&2; fi
    echo "$out"
}

measure() { # turn, index: one row
    local c out row=${names[$2]}/$1 port=${ports[$2]} before cpu p99 bulk=() loop
    for c in 1 10 50 1000; do
        before=$(cpu_ticks "${entries[$2]}" "${agents[$2]}")
        out=$(wrk_of "$c" "$seconds" "$port")
        row+=" $(awk '/Requests\/sec/{printf "%d", $2}' <<<"$out")"
        p99=$(wrk_p99 <<<"$out")
        [[ $c == 50 ]] && cpu="$(cpu_us "$before" "$(cpu_ticks "${entries[$2]}" "${agents[$2]}")" "$(awk '/requests in/{print $1}' <<<"$out")") $p99"
    done
    row+=" $cpu $p99"
    for loop in 1 2; do
        (while :; do curl -s -o /dev/null --limit-rate 100M -H 'Host: web.localhost' "http://127.0.0.1:$port/big"; done) &
        bulk+=($!)
    done
    row+=" $(wrk_of 4 "$seconds" "$port" | wrk_p99)"
    for loop in "${bulk[@]}"; do out=$(pgrep -P "$loop" || true); kill "$loop" $out 2>/dev/null || true; done
    wait "${bulk[@]}" 2>/dev/null || true
    echo "$row $(resident "${entries[$2]}" "${agents[$2]}")" | tee -a "$work/rows"
}

columns='c=1 c=10 c=50 c=1000 cpu_us(c=50) p99_ms(c=50) p99_ms(c=1000) small_beside_bulk_p99_ms rss_MB'
echo "who $columns"
for index in "${!names[@]}"; do wrk_of 50 3 "${ports[$index]}" >/dev/null; done
for turn in $(seq "$turns"); do
    for step in "${!names[@]}"; do measure "$turn" $(((step + turn) % ${#names[@]})); done
done

summarise "$work/rows" "$columns" ready-streams
