#!/usr/bin/env bash
# What settings of ProxyEntry cost the whole tunnel: two tunnels at once, the second with the settings given, loaded in turns with the same service
# (nginx, 1 KiB file) behind both. Prints processor time per request and what the second has more: the mean of all turns, and its standard error,
# taken over the starts, because what differs from start to start (where code and buffers come to lie) is as large as what is looked for. Without
# settings it shows what the measurement itself is worth. On loopback. Needs Debian's nginx-light, wrk and curl, and a release build of Tunnel2.sln.
#
#   benchmarks/setting-cost/run.sh [setting of ProxyEntry]…       e.g. --Tunnel2:ServerTiming=always
#   STARTS (4), TURNS (8), SECONDS_EACH (3), CONNECTIONS (50); TUNNEL2_ENGINE=portable measures the other engine
#
# Ports 18490 and 18491-18496 must be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
starts=${STARTS:-4} turns=${TURNS:-8} seconds=${SECONDS_EACH:-3} connections=${CONNECTIONS:-50}

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
chmod -R a+rX "$work"
start_nginx service "server { listen 127.0.0.1:18490 backlog=8192; root $work/www; }"

load() { # port, seconds: the number of requests
    local out
    out=$(wrk -t1 -c"$connections" -d"${2}s" --timeout 30s -H 'Host: web.localhost' "http://127.0.0.1:$1/s")
    if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors:" >&2; echo "$out" >&2; fi
    awk '/requests in/{ print $1 }' <<<"$out"
}

measure() { # with or without, port, ProxyEntry, agent: µs per request of both
    local entry agent requests
    entry=$(cpu_ticks "$3") agent=$(cpu_ticks "$4")
    requests=$(load "$2" "$seconds")
    awk -v e=$(($(cpu_ticks "$3") - entry)) -v a=$(($(cpu_ticks "$4") - agent)) -v n="$requests" -v h="$(getconf CLK_TCK)" -v who="$1" -v start="$start" \
        'BEGIN { printf "%d %s %.2f %.2f\n", start, who, e * 1000000 / h / n, a * 1000000 / h / n }' | tee -a "$work/rows"
}

echo "start who entry_us agent_us"
for start in $(seq "$starts"); do
    start_entry without 18491; without=$started
    start_entry with 18494 "$@"; with=$started
    ready 18490 /s
    start_agent web 18491 18490; without_agent=$started
    start_agent web 18494 18490; with_agent=$started
    ready 18491 /s
    ready 18494 /s
    for port in 18491 18494 18491 18494; do load "$port" 3 >/dev/null; done
    for turn in $(seq "$turns"); do
        if ((turn % 2)); then
            measure without 18491 "$without" "$without_agent"
            measure with 18494 "$with" "$with_agent"
        else
            measure with 18494 "$with" "$with_agent"
            measure without 18491 "$without" "$without_agent"
        fi
    done
    stop "$without_agent" "$with_agent" "$without" "$with"
done

awk '{ k = $2 == "with"; n[$1, k]++; for (i = 3; i <= 4; i++) { sum[$1, k, i] += $i; all[k, i] += $i } if ($1 > starts) starts = $1; count[k]++ }
    END {
        for (s = 1; s <= starts; s++) { d = 0; for (i = 3; i <= 4; i++) d += sum[s, 1, i] / n[s, 1] - sum[s, 0, i] / n[s, 0]; mean += d / starts; squares += d * d }
        error = starts > 1 ? sprintf("%.2f", sqrt((squares - starts * mean * mean) / (starts - 1) / starts)) : "-"
        printf "without: ProxyEntry %.2f, agent %.2f us of CPU a request\nwith:    ProxyEntry %.2f, agent %.2f\nmore:    %+.2f us, standard error %s\n",
            all[0, 3] / count[0], all[0, 4] / count[0], all[1, 3] / count[1], all[1, 4] / count[1], mean, error
    }' "$work/rows"
