#!/usr/bin/env bash
# What inspecting a session costs, in turns with sessions that are not inspected, on the same ProxyEntry: the rate of a session without inspection, inspected
# at ProxyEntry and inspected at its agent; another session beside one that is inspected and beside one that is not; bodies of 1 GB each way with the
# memory of the processes; and the bytes held, which may never be above the setting. Wanted: an inspected session has at least 80 % of its rate,
# others all of theirs. Exits with 1 if more is held than the setting, or if a request fails. Everything stays on loopback. Needs Debian's
# nginx-light, wrk, nghttp2-client, curl and jq.
#
#   load-tests/inspector/run.sh [rounds, default 5] [seconds of each point, default 5]
#   CONNECTIONS (32), BESIDE (1000): requests a second of the session beside the other one, GIGABYTE (1000000000): bytes of a large body
#   TUNNEL2_ENGINE=portable measures the other engine
#
# Ports 18590-18595 must be free. Takes about four minutes after the build.
set -euo pipefail
case "${1:-}" in
    -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
esac
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-5} seconds=${2:-5}
connections=${CONNECTIONS:-32} beside=${BESIDE:-1000} large=${GIGABYTE:-1000000000}
for project in src/Tunnel2.ProxyEntry/Tunnel2.ProxyEntry.csproj src/Tunnel2.Client/Tunnel2.Client.csproj \
    load-tests/Tunnel2.TestBackend/Tunnel2.TestBackend.csproj; do
    dotnet build -c Release -v quiet --nologo "$project"
done

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
head -c 102400 /dev/zero | tr '\0' x >"$work/www/m"
truncate -s "$large" "$work/www/large"
chmod -R a+rX "$work"
dotnet load-tests/Tunnel2.TestBackend/bin/Release/net10.0/tunnel2-testbackend.dll --listen 127.0.0.1:18595 >"$work/backend.log" &
pids+=($!)
start_nginx service "server { listen 127.0.0.1:18590 backlog=8192; root $work/www; location /sink { proxy_pass http://127.0.0.1:18595; } }"
ready 18590 /s
ready 18595 /bytes/1

start_entry entry 18591
entry=$started
start_agent web 18591 18590 --inspect-listen off
web=$started
start_agent seen 18591 18590 --inspect-listen 127.0.0.1:18594
seen=$started
start_agent other 18591 18590 --inspect-listen off
other=$started
for name in web seen other; do ready 18591 /s "$name.localhost"; done

inspection() { # PUT or DELETE
    curl -sf -o /dev/null -X "$1" http://127.0.0.1:18593/api/v1/sessions/web/inspection
}

held() { # at the port of the inspector, for the session: bytes held, and the setting
    curl -sf "http://127.0.0.1:$1/api/v1/sessions/$2/exchanges?limit=1" | jq -r '"\(.bytes) \(.limitBytes)"'
}

watch_held() { # port, session: the most that was held until the file "stop" is there, into the file "held"
    local most=0 bytes limit=0
    while [[ ! -e $work/stop ]]; do
        read -r bytes limit <<<"$(held "$1" "$2")"
        ((bytes > most)) && most=$bytes
        sleep 0.1
    done
    echo "$most $limit" >"$work/held"
}

with_held() { # port and session of an inspector, or - -; command…: runs it, and sets held_most and held_limit
    local port=$1 session=$2 watcher
    shift 2
    held_most=- held_limit=-
    if [[ $port == - ]]; then
        "$@"
        return
    fi
    rm -f "$work/stop"
    watch_held "$port" "$session" &
    watcher=$!
    "$@"
    touch "$work/stop"
    wait "$watcher"
    read -r held_most held_limit <"$work/held"
    if ((held_most > held_limit)); then
        echo "$held_most bytes are held, and the setting is $held_limit" >&2
        failed=1
    fi
}

failed=0
wrk_on() { # session, path, seconds: wrk's report in the file "wrk"
    wrk -t1 -c"$connections" -d"${3}s" --latency --timeout 30s -H "Host: $1.localhost" "http://127.0.0.1:18591$2" >"$work/wrk"
    if grep -qE 'Socket errors|Non-2xx' "$work/wrk"; then
        cat "$work/wrk" >&2
        failed=1
    fi
}

point() { # row, session, its agent, file of rows: rate, p99, processor time of a request
    local entry_before agent_before requests
    entry_before=$(cpu_ticks "$entry") agent_before=$(cpu_ticks "$3")
    wrk_on "$2" /s "$seconds"
    requests=$(awk '/requests in/{ print $1 }' "$work/wrk")
    echo "$1 $(awk '/Requests\/sec/{ print $2 }' "$work/wrk") $(wrk_p99 <"$work/wrk") $(cpu_us "$entry_before" "$(cpu_ticks "$entry")" "$requests")" \
        "$(cpu_us "$agent_before" "$(cpu_ticks "$3")" "$requests")" | tee -a "$work/$4"
}

beside() { # row: the other session beside requests at a fixed rate to web
    h2load --h1 -c 10 -t1 -D $((seconds + 2)) --rps $((beside / 10)) --connect-to 127.0.0.1:18591 http://web.localhost:18591/s >"$work/h2load" 2>&1 &
    local flood=$!
    sleep 1
    point "$1" other "$other" beside-rows
    wait "$flood"
}

# What they run is compiled before the first point.
inspection PUT
for name in web seen other; do wrk_on "$name" /s 3; done
inspection DELETE
wrk_on web /s 3

echo "who requests/s p99_ms entry_us agent_us"
for round in $(seq "$rounds"); do
    turns=(plain entry agent)
    for ((i = 0; i < 3; i++)); do
        case ${turns[$(((i + round) % 3))]} in
            plain) point "plain/$round" web "$web" rows ;;
            entry)
                inspection PUT
                point "at-ProxyEntry/$round" web "$web" rows
                inspection DELETE
                ;;
            agent) point "at-agent/$round" seen "$seen" rows ;;
        esac
    done
    for ((i = 0; i < 2; i++)); do
        if (((i + round) % 2)); then
            beside "beside-plain/$round"
        else
            inspection PUT
            beside "beside-inspected/$round"
            inspection DELETE
        fi
    done
done
summarise "$work/rows" "requests/s p99_ms entry_us agent_us" plain
summarise "$work/beside-rows" "requests/s p99_ms entry_us agent_us" beside-plain

peak() { # pid: the most memory in MB after the last clear_peaks
    awk '/VmHWM/ { printf "%d", $2 / 1024 }' "/proc/$1/status"
}

bodies() { # row, session, its agent, port and session of the inspector or - -
    local direction began
    for direction in down up; do
        for pid in "$entry" "$3"; do echo 5 >"/proc/$pid/clear_refs"; done
        began=$(date +%s%N)
        with_held "$4" "$5" "$direction" "$2"
        echo "$1 $direction $(awk -v b="$large" -v ns=$(($(date +%s%N) - began)) 'BEGIN { printf "%.0f", b * 1000 / ns }') $(peak "$entry") $(peak "$3")" \
            "$held_most $held_limit" | tee -a "$work/bodies"
    done
}

down() {
    local got
    got=$(curl -s -o /dev/null -w '%{size_download}' -H "Host: $1.localhost" http://127.0.0.1:18591/large)
    if [[ $got != "$large" ]]; then
        echo "$got bytes came of $large" >&2
        failed=1
    fi
}

up() {
    curl -sf -o /dev/null -H "Host: $1.localhost" -H 'Expect:' -T "$work/www/large" http://127.0.0.1:18591/sink || {
        echo "the upload failed" >&2
        failed=1
    }
}

echo
echo "bodies of $large bytes"
echo "who direction MB/s entry_peak_MB agent_peak_MB held limit"
bodies plain web "$web" - -
inspection PUT
bodies at-ProxyEntry web "$web" 18593 web
inspection DELETE
bodies at-agent seen "$seen" 18594 seen

echo
echo "many answers of 100 KiB: bytes held at most, and the setting"
inspection PUT
with_held 18593 web wrk_on web /m "$seconds"
echo "at-ProxyEntry $held_most $held_limit"
inspection DELETE
with_held 18594 seen wrk_on seen /m "$seconds"
echo "at-agent $held_most $held_limit"
exit "$failed"
