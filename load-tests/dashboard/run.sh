#!/usr/bin/env bash
# What an open dashboard costs ProxyEntry, and how quick and fluid the page is. On loopback, shipped settings.
#   cost    processor time of ProxyEntry at 10,000 requests a second: without a page, with a plain client that subscribes to exactly what the page
#           subscribes to, and with the page in chromium; the pages "Node" and "Requests" each. In turns. The client shows the cost without chromium,
#           which takes processors (and their caches) from everybody.
#   paint   the first paint, and what all files weigh.
#   fluid   the list of requests at 1,000 requests a second: frames a second while it scrolls, and the browser's heap, for some minutes.
#
#   load-tests/dashboard/run.sh [rounds, default 3] [seconds of each turn, default 20] [minutes that the list is open, default 10]
#
# TUNNEL2_DASHBOARD_PARTS="cost paint fluid" says which; TUNNEL2_ENGINE=portable measures the other engine. Needs Debian's chromium, nghttp2-client, curl
# and jq, and node with npm. Ports 18490 and 18494-18496 must be free. Takes rounds × 5 × (seconds + 2) s and the minutes.
set -euo pipefail
if (($# > 3)) || [[ ! "${1:-1} ${2:-1} ${3:-1}" =~ ^[1-9][0-9]*\ [1-9][0-9]*\ [0-9]+$ ]]; then
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-3} seconds=${2:-20} minutes=${3:-10}
parts=${TUNNEL2_DASHBOARD_PARTS:-cost paint fluid}
modules=tests/Tunnel2.Programs.Tests/node
for tool in chromium h2load curl jq node npm; do
    command -v "$tool" >/dev/null || { echo "$tool is missing (Debian: chromium, nghttp2-client, curl, jq, nodejs, npm)" >&2; exit 2; }
done
for project in src/Tunnel2.ProxyEntry src/Tunnel2.Client load-tests/Tunnel2.TestBackend; do
    dotnet build -c Release -v quiet --nologo "$project" >"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
done
[[ -d $modules/node_modules/playwright-core ]] || npm install --no-save --prefix "$modules" --no-audit --no-fund >&2

dotnet load-tests/Tunnel2.TestBackend/bin/Release/net10.0/tunnel2-testbackend.dll --listen 127.0.0.1:18490 --engine event-loop >"$work/backend.log" &
pids+=($!)
start_entry entry 18494
entry=$started
start_agent web 18494 18490
ready 18494 /bytes/1
page=http://127.0.0.1:18496/

dashboard() { node load-tests/dashboard/dashboard.mjs "$@"; }

load() { # requests a second, seconds, file of what h2load says
    h2load --h1 -c 50 -t1 -D "$2" --rps $(($1 / 50)) --connect-to 127.0.0.1:18494 http://web.localhost:18494/bytes/100 >"$3" 2>&1
}

watch() { # what is open, address of the page: $started, once it has what it subscribed to
    case $1 in
        client*) node load-tests/dashboard/dashboard.mjs follow "$page" "$work/subscriptions-$2" >"$work/watcher" & ;;
        page*) node load-tests/dashboard/dashboard.mjs open "$page#/$2" >"$work/watcher" & ;;
    esac
    started=$!
    pids+=("$started")
    for _ in $(seq 150); do grep -q '^open' "$work/watcher" && return; sleep 0.2; done
    echo "$1 did not open:" >&2
    cat "$work/watcher" >&2
    exit 1
}

turn() { # name, what is open, address of the page, round
    local before after count watcher=
    if [[ $2 != none ]]; then watch "$2" "$3"; watcher=$started; fi
    before=$(cpu_ticks "$entry")
    load 10000 "$seconds" "$work/load"
    after=$(cpu_ticks "$entry")
    count=$(awk '/^requests:/ { for (i = 2; i <= NF; i++) if ($i ~ /^done/) print $(i - 1) }' "$work/load")
    [[ ${count:-0} -gt 0 ]] || { cat "$work/load" >&2; exit 1; }
    [[ -z $watcher ]] || stop "$watcher"
    awk -v name="$1/$4" -v ticks=$((after - before)) -v h="$(getconf CLK_TCK)" -v s="$seconds" -v n="$count" \
        'BEGIN { printf "%s %.2f %.2f %d\n", name, ticks * 1000000 / h / n, ticks * 100 / h / s, n / s }' | tee -a "$work/rows"
}

if [[ $parts == *cost* ]]; then
    echo "== cost: processor time of ProxyEntry ($(nproc) processors)"
    for address in '' requests; do dashboard subscriptions "$page#/$address" >"$work/subscriptions-$address"; done
    load 10000 5 "$work/load"
    echo "who/round us_per_request percent_of_a_processor requests_per_s"
    for round in $(seq "$rounds"); do
        turn none none '' "$round"
        turn client-node client '' "$round"
        turn page-node page '' "$round"
        turn client-requests client requests "$round"
        turn page-requests page requests "$round"
    done
    summarise "$work/rows" "us_per_request percent_of_a_processor requests_per_s" none
    # At 10,000 requests a second a µs of each is one percent of a processor: turns in which the generator sent less count the same.
    printf '\nmore than without a page, %% of a processor at 10,000 requests/s: median of the rounds, smallest and largest (wanted: at most 2)\n'
    awk '{ split($1, who, "/"); value[who[1], who[2]] = $2; names[who[1]]; if (who[2] > rounds) rounds = who[2] }
        END {
            for (name in names) if (name != "none") {
                n = 0
                for (r = 1; r <= rounds; r++) list[++n] = value[name, r] - value["none", r]
                for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (list[j] < list[i]) { t = list[i]; list[i] = list[j]; list[j] = t }
                printf "%-16s %.2f (%.2f to %.2f)\n", name, n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2, list[1], list[n]
            }
        }' "$work/rows" | sort
fi

if [[ $parts == *paint* ]]; then
    printf '\n== paint: five new profiles, nothing cached (wanted: below 500 ms, 200,000 bytes)\n'
    dashboard paint "$page" 5
fi

if [[ $parts == *fluid* ]]; then
    printf '\n== fluid: the list of requests at 1,000 a second (wanted: 50 frames/s or more, heap within 20 %%)\n'
    # Not by load: what cleanup ends has to be the generator itself.
    h2load --h1 -c 50 -t1 -D $((minutes * 60 + 120)) --rps 20 --connect-to 127.0.0.1:18494 http://web.localhost:18494/bytes/100 >"$work/load" 2>&1 &
    pids+=($!)
    dashboard fluid "$page" "$minutes"
fi
