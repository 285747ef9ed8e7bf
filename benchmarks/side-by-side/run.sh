#!/usr/bin/env bash
# Measures Tunnel2 (server and agent, two processes) beside nginx with one and with two hops, and beside ssh -R where sshd is installed, in one
# run: same service (nginx, 1 KiB file), same load, one after the other, on loopback. Makes the figures of the README and the first table of
# docs/performance.md. Needs Debian's nginx-light, wrk, nghttp2-client and curl, and a release build of Tunnel2.sln.
#
#   benchmarks/side-by-side/run.sh [rounds, default 3] [seconds for each point, default 5]
#
# TUNNEL2_ENGINE=portable measures the other engine; ONLY="nginx-2hop tunnel2" leaves others out; TUNNEL2_BULK_SECONDS (5) is how long small
# requests run beside bulk, whose longest is reported on stderr. Ports 18080-18085 and 12000-12002 must be free. Prints a row for each round, then the
# medians, then the medians of the ratios to nginx with two hops in the same round.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-3} seconds=${2:-5}
only=${ONLY:-service nginx-1hop nginx-2hop ssh-R tunnel2}

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
head -c 1073741824 /dev/urandom >"$work/www/big"
chmod -R a+rX "$work"

p99() { # requests/s, connections, seconds, port: the 99th percentile in ms, or "errors"
    rm -f "$work/log"
    h2load --h1 -c "$2" -t1 -D "$3" --rps "$(($1 / $2))" --log-file "$work/log" --connect-to "127.0.0.1:$4" "http://web.localhost:$4/s" >"$work/h2load" 2>&1
    awk '$2 != 200 { bad++ } { print $3 / 1000 } END { exit bad > 0 }' "$work/log" | sort -n >"$work/sorted" || { echo errors; return; }
    awk '{ v[NR] = $1 } END { printf "%.1f", v[int(NR * 0.99)] }' "$work/sorted"
}

fastest() { # curl's variable, curl's arguments: the best of three, MB/s
    local variable=$1
    shift
    for _ in 1 2 3; do curl -sf -o /dev/null -H 'Host: web.localhost' -w "%{$variable}\n" "$@"; done | sort -n | awk 'END { printf "%d", $1 / 1000000 }'
}

small_beside_bulk() { # port
    local bulk=() i curl_of
    for i in 1 2; do
        (while :; do curl -s -o /dev/null --limit-rate 100M -H 'Host: web.localhost' "http://127.0.0.1:$1/big"; done) &
        bulk+=($!)
    done
    for i in $(seq 8); do
        curl -s -o /dev/null --limit-rate 200k -H 'Host: web.localhost' "http://127.0.0.1:$1/big" &
        bulk+=($!)
    done
    sleep 2
    p99 200 20 "${TUNNEL2_BULK_SECONDS:-5}" "$1"
    awk -v p="$1" 'END { printf "port %d, small beside bulk: the longest of %d took %.1f ms\n", p, NR, $1 }' "$work/sorted" >&2
    # The loop before its curl, or it would start another.
    for i in "${bulk[@]}"; do curl_of=$(pgrep -P "$i" || true); kill "$i" $curl_of 2>/dev/null || true; done
    wait "${bulk[@]}" 2>/dev/null || true
}

measure() { # name, port, pids: one row
    local name=$1 port=$2 row before after requests c out cpu slowest
    local url=http://127.0.0.1:$port
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
        [[ $c == 50 ]] && cpu=$(cpu_us "$before" "$after" "$requests")
        slowest=$(wrk_p99 <<<"$out")
    done
    row+=" $slowest $cpu $(resident "$@")"
    row+=" $(wrk -t1 -c50 -d"${seconds}s" -H 'Host: web.localhost' -H 'Connection: close' "$url/s" | awk '/Requests\/sec/{printf "%d", $2}')"
    row+=" $(fastest speed_download "$url/big") $(fastest speed_upload -X POST -H Expect: -T "$work/www/big" "$url/sink")"
    row+=" $(p99 1000 100 5 "$port") $(small_beside_bulk "$port")"
    echo "$row" | tee -a "$work/rows"
}

wanted() { [[ " $only " == *" $1 "* ]]; }

# nginx answers an upload before it has read it; this service reads it to its end.
dotnet load-tests/Tunnel2.TestBackend/bin/Release/net10.0/tunnel2-testbackend.dll --listen 127.0.0.1:18083 >"$work/sink.log" &
pids+=($!)
start_nginx service "server { listen 127.0.0.1:18080 backlog=8192 reuseport; root $work/www; location = /sink { proxy_pass http://127.0.0.1:18083; } }"; service=$started
start_nginx hop1 "$(hop 18081 18080)"; hop1=$started
start_nginx hop2 "$(hop 18082 18081)"; hop2=$started
ready 18082 /s
columns="c=1 c=10 c=50 c=1000 p99_ms(c=1000) cpu_us(c=50) rss_MB new_conn/s down_MB/s up_MB/s burst_p99_ms beside_bulk_p99_ms"
# A packet filter that tracks connections (Docker's rules load one) takes its share of every packet and makes everything slower, not equally so.
if [[ -r /proc/net/nf_conntrack ]] && grep -q 'src=127\.0\.0\.1 dst=127\.0\.0\.1' /proc/net/nf_conntrack; then
    echo "Note: the kernel tracks connections on loopback (a packet filter's rules); figures are lower than without." >&2
fi

echo "who $columns"
for round in $(seq "$rounds"); do
    wanted service && measure "service/$round" 18080 "$service"
    wanted nginx-1hop && measure "nginx-1hop/$round" 18081 "$hop1"
    wanted nginx-2hop && measure "nginx-2hop/$round" 18082 "$hop1" "$hop2"
    if wanted ssh-R && [[ -x /usr/sbin/sshd ]]; then
        mkdir -p "$work/ssh" /run/sshd
        [[ -f $work/ssh/key ]] || { ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/key"; ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/host"; cp "$work/ssh/key.pub" "$work/ssh/authorized"; chmod 600 "$work"/ssh/*; }
        /usr/sbin/sshd -D -f /dev/null -h "$work/ssh/host" -p 18085 -o ListenAddress=127.0.0.1 -o AuthorizedKeysFile="$work/ssh/authorized" -o StrictModes=no -o UsePAM=no -o PidFile=none 2>"$work/sshd.log" &
        sshd=$!
        pids+=("$sshd")
        sleep 1
        ssh -N -p 18085 -i "$work/ssh/key" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ExitOnForwardFailure=yes -R 127.0.0.1:18084:127.0.0.1:18080 127.0.0.1 2>"$work/ssh.log" &
        ssh=$!
        pids+=("$ssh")
        ready 18084 /s
        measure "ssh-R/$round" 18084 $(pgrep -P "$sshd") "$ssh"
        stop "$ssh" "$sshd"
    fi
    wanted tunnel2 || continue
    start_entry entry 12000; entry=$started
    start_agent web 12000 18080; agent=$started
    ready 12000 /s
    measure "tunnel2/$round" 12000 "$entry" "$agent"
    stop "$agent" "$entry"
done

summarise "$work/rows" "$columns" nginx-2hop 7:nginx-1hop
