#!/usr/bin/env bash
# One of two uplinks black-holed by the kernel's packet filter, in a network namespace of its own: not closed, not reset, its packets just
# disappear. Requests continue, 20 a second, each its own connection. Prints how many of them took longer than a second by when they began, when
# the last such one began, and when the uplink was declared dead. Needs root (unshare, iptables), curl and ss; takes half a minute.
#
#   load-tests/uplinks/black-hole.sh
#
# Exit code 1: a request that began later than 3 s after the cut took longer than a second or failed, or the uplink was not declared dead
# within 15 s (and the second that the check takes).
set -euo pipefail

if [[ "${1:-}" != --inside ]]; then
    if (($# > 0)); then
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
        exit 2
    fi

    cd "$(dirname "${BASH_SOURCE[0]}")/../.."
    for project in src/Tunnel2.ProxyEntry src/Tunnel2.Client load-tests/Tunnel2.TestBackend; do
        dotnet build -c Release -v quiet --nologo "$project"
    done

    exec unshare --net "load-tests/uplinks/$(basename "$0")" --inside
fi

ip link set lo up
work="$(mktemp -d)"
pids=()
finish() {
    kill "${pids[@]}" 2> "$work/kill" || true
    wait "${pids[@]}" 2> "$work/wait" || true
    rm -rf "$work"
}

trap finish EXIT
start() {
    local name="$1"
    shift
    dotnet "$@" > "$work/$name.log" 2>&1 &
    pids+=($!)
}

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }
uplinks() { ss -tnH state established "( dport = :12001 )" | awk '{ split($3, a, ":"); print a[length(a)] }'; }

start backend load-tests/Tunnel2.TestBackend/bin/Release/net10.0/tunnel2-testbackend.dll --listen 127.0.0.1:3000
start entry src/Tunnel2.ProxyEntry/bin/Release/net10.0/tunnel2-entry.dll
start agent src/Tunnel2.Client/bin/Release/net10.0/tunnel2.dll http 3000 --name web --uplinks 2 --verbose
ask=(curl -s -o /dev/null -H 'Host: web.localhost' --max-time 30)
for ((i = 0; ; i++)); do
    if [[ "$("${ask[@]}" -w '%{http_code}' http://127.0.0.1:12000/bytes/1000)" == 200 && "$(uplinks | wc -l)" == 2 ]]; then
        break
    fi

    if ((i == 150)); then
        cat "$work"/*.log >&2
        exit 1
    fi

    sleep 0.2
done

began="$(now)"
steady() {
    local until=$((SECONDS + 25))
    while ((SECONDS < until)); do
        {
            local at
            at="$(since "$began")"
            "${ask[@]}" -w "$at %{time_total} %{http_code}\n" http://127.0.0.1:12000/bytes/1000 >> "$work/requests" || echo "$at 30 000" >> "$work/requests"
        } &
        sleep 0.05
    done

    wait
}

steady &
load=$!
sleep 3
port="$(uplinks | head -1)"
cut="$(since "$began")"
for chain in INPUT OUTPUT; do
    iptables -I "$chain" -p tcp --sport "$port" --dport 12001 -j DROP
    iptables -I "$chain" -p tcp --sport 12001 --dport "$port" -j DROP
done

dead=
for ((i = 0; i < 180 && ${#dead} == 0; i++)); do
    if ! uplinks | grep -qx "$port"; then
        dead="$(awk -v a="$cut" -v b="$(since "$began")" 'BEGIN { printf "%.1f", b - a }')"
    fi

    sleep 0.1
done

wait "$load"
awk -v cut="$cut" -v dead="${dead:-never}" '
    { n++; late = $1 - cut; if ($3 != 200) failed++ ; if ($2 > 1 || $3 != 200) { slow++; if (late > last) last = late; if (late > 3) bad++ } if ($2 > worst) worst = $2 }
    END {
        printf "%d requests, %d failed, %d took longer than 1 s (the last of them began %.1f s after the cut, the longest took %.1f s); the uplink was dead after %s s\n", n, failed, slow, last, worst, dead
        exit bad > 0 || dead == "never" || dead > 16
    }' "$work/requests"
