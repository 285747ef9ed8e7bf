#!/usr/bin/env bash
# How ProxyEntry scales: the same load with 1, 2, 4 … event loops in turns, several agents with a session each behind it, on loopback. Prints for each
# number of loops what it served, what a request cost ProxyEntry and the agents, how often a connection moved or a stream crossed between loops, and memory;
# then the efficiency beside one loop, and the universal scalability law fitted to it (usl.py). docs/scaling.md says what that is worth.
# Needs Debian's nginx-light, wrk, curl and python3, and a release build of Tunnel2.sln.
#
#   benchmarks/scaling/run.sh [LOOPS…, default 1 2 4 8]
#   ROUNDS (3), SECONDS_EACH (5), UPLINKS (each agent's; by default as many as it takes to give every loop one), PREDICT (16 64)
#
# Four processors and more: ProxyEntry has the first half to itself, N of them with N loops; service, agents and generator have the other half. With
# fewer, ProxyEntry with N loops may use N processors, everybody else all of them, and the run says so. Loops beyond ProxyEntry's processors show what
# too many cost; they are not fitted. Ports 18380-18383 must be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
loops=("$@")
((${#loops[@]} > 0)) || loops=(1 2 4 8)
rounds=${ROUNDS:-3} seconds=${SECONDS_EACH:-5} predict=${PREDICT:-16 64}
here=benchmarks/scaling

mapfile -t all < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done)
processors=${#all[@]}
if ((processors > 3)); then
    own=$((processors / 2))
    others=$(IFS=,; echo "${all[*]:own}")
    rest="taskset -c $others"
    echo "$processors processors: ProxyEntry has up to $own to itself (${all[*]:0:own}), service, agents and generator have the others ($others)."
else
    own=$processors rest=''
    echo "$processors processors: only ProxyEntry is pinned. Service, agents and generator compete with it for the same processors; see docs/scaling.md."
fi
most=$(printf '%s\n' "${loops[@]}" | sort -n | tail -1)
sessions=$own
uplinks=${UPLINKS:-$(((most + sessions - 1) / sessions > 4 ? 4 : (most + sessions - 1) / sessions))}
echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(lscpu | sed -n 's/^Thread(s) per core: *//p') thread(s) a core; $sessions agents with a session and $uplinks uplinks each; $rounds rounds, $seconds s a point"

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
chmod -R a+rX "$work"
start_nginx service "server { listen 127.0.0.1:18380 backlog=8192 reuseport; root $work/www; }" $((processors - own > 1 ? processors - own : 1))
[[ -z $rest ]] || for pid in $(family "$started"); do taskset -cp "$others" "$pid" >/dev/null; done
# A session for each of wrk's threads. No function `request`: what is sent stays the same, and costs the generator nothing.
cat >"$work/sessions.lua" <<'L'
local threads = 0
function setup(thread) thread:set("session", threads); threads = threads + 1 end
function init() wrk.headers["Host"] = "s" .. session .. ".localhost" end
L

metric() { # a name of a counter: its value, all tag sets together
    curl -sf http://127.0.0.1:18383/metrics | awk -v name="$1" '{ split($1, part, "{") } part[1] == name { sum += $2 } END { printf "%d", sum }'
}

load() { # connections, seconds
    $rest wrk -t"$sessions" -c"$1" -d"${2}s" --timeout 30s --latency -s "$work/sessions.lua" http://127.0.0.1:18381/s
}

point() { # connections, ProxyEntry, agents: req/s entry_us agents_us p99 busy moved crossed
    local connections=$1 entry=$2 out requests entry_ticks agent_ticks moved crossed
    shift 2
    moved=$(metric tunnel2_entry_loop_connections_moved_total) crossed=$(metric tunnel2_entry_loop_streams_crossed_total)
    entry_ticks=$(cpu_ticks "$entry") agent_ticks=$(cpu_ticks "$@")
    out=$(load "$connections" "$seconds")
    entry_ticks=$(($(cpu_ticks "$entry") - entry_ticks)) agent_ticks=$(($(cpu_ticks "$@") - agent_ticks))
    if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors at c=$connections:" >&2; echo "$out" >&2; fi
    requests=$(awk '/requests in/{print $1}' <<<"$out")
    moved=$(($(metric tunnel2_entry_loop_connections_moved_total) - moved)) crossed=$(($(metric tunnel2_entry_loop_streams_crossed_total) - crossed))
    awk -v rate="$(awk '/Requests\/sec/{print $2}' <<<"$out")" -v e=$entry_ticks -v a=$agent_ticks -v n="$requests" -v h="$(getconf CLK_TCK)" -v s="$seconds" \
        -v p99="$(wrk_p99 <<<"$out")" -v moved=$moved -v crossed=$crossed \
        'BEGIN { printf "%d %.2f %.2f %s %.2f %.4f %.4f", rate, e * 1e6 / h / n, a * 1e6 / h / n, p99, e / h / s, moved / n, crossed / n }'
}

one() { # loops, round: a row
    local n=$1 round=$2 entry agents=() i idle row cpus=$(($1 < own ? $1 : own))
    entry_pinned="taskset -c $(IFS=,; echo "${all[*]:0:cpus}")" agent_pinned=$rest
    start_entry entry 18381 "--Tunnel2:Loops=$n"; entry=$started
    ready 18383 /health/ready 127.0.0.1
    idle=$(resident "$entry")
    for ((i = 0; i < sessions; i++)); do start_agent "s$i" 18381 18380 --uplinks "$uplinks"; agents+=("$started"); done
    for ((i = 0; i < sessions; i++)); do ready 18381 /s "s$i.localhost"; done
    load 50 3 >/dev/null
    # The first crowd of a process meets code that is not compiled yet, and an agent that does not trust its service yet.
    load 1000 3 >/dev/null
    row="$n/$round $(point 50 "$entry" "${agents[@]}") $(point 1000 "$entry" "${agents[@]}") $idle $(resident "$entry")"
    stop "${agents[@]}" "$entry"
    echo "$row" | tee -a "$work/rows"
}

ready 18380 /s
echo "loops/round, then for c=50 and c=1000: req/s entry_us agents_us p99_ms processors_busy moved/request crossed/request; ProxyEntry's MB idle and after"
for round in $(seq "$rounds"); do
    # There and back, so that a host that grows slower hits them alike.
    for n in $( ((round % 2)) && printf '%s\n' "${loops[@]}" || printf '%s\n' "${loops[@]}" | tac); do one "$n" "$round"; done
done

echo
echo "Medians, ready for docs/scaling.md. 'full' is what ProxyEntry would carry with its processors full: processors / CPU per request."
awk -v own="$own" '
    function median(key, i,   a, b, t, list, count) {
        count = 0
        for (a = 1; a <= rounds; a++) if ((key, a, i) in value) list[++count] = value[key, a, i]
        for (a = 1; a <= count; a++) for (b = a + 1; b <= count; b++) if (list[b] < list[a]) { t = list[a]; list[a] = list[b]; list[b] = t }
        return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
    }
    { split($1, who, "/"); if (!(who[1] in seen)) { seen[who[1]] = 1; order[++n] = who[1] } if (who[2] > rounds) rounds = who[2]
      for (i = 2; i <= NF; i++) value[who[1], who[2], i] = $i + 0 }
    END {
        print "| loops, processors | | requests/s | µs, ProxyEntry + agents | p99, ms | processors busy | full, requests/s | beside 1 loop | moved, crossed a request | MB idle, after |"
        print "|---|---|---|---|---|---|---|---|---|---|"
        for (k = 1; k <= n; k++) for (j = 0; j < 2; j++) {
            at = 2 + 7 * j; key = order[k]; cpus = key < own ? key : own
            full = cpus * 1e6 / median(key, at + 1)
            if (!((j) in first)) first[j] = full / cpus
            printf("| %d, %d%s | c=%d | %d | %.1f + %.1f | %.1f | %.2f | %d | %.2f × a processor | %.4f, %.4f | %d, %d |\n", key, cpus, key > own ? " (too many)" : "", j ? 1000 : 50,
                median(key, at), median(key, at + 1), median(key, at + 2), median(key, at + 3), median(key, at + 4), full, full / cpus / first[j], median(key, at + 5), median(key, at + 6),
                median(key, 16), median(key, 17))
        }
        if (n > 1) printf "\nMemory of a loop: %.1f MB idle, %.1f MB after the load\n", (median(order[n], 16) - median(order[1], 16)) / (order[n] - order[1]),
            (median(order[n], 17) - median(order[1], 17)) / (order[n] - order[1])
    }' "$work/rows"

for at in 50 1000; do
    echo
    echo "c=$at, from 'full':"
    awk -v at="$at" -v own="$own" '{ split($1, who, "/"); if (who[1] <= own) print who[2], who[1], who[1] * 1e6 / $(at == 50 ? 3 : 10) }' "$work/rows" | python3 "$here/usl.py" $predict
done
