#!/usr/bin/env bash
# What a cluster costs, on loopback, with a PostgreSQL of its own. Needs a release build of Tunnel2.sln, and Debian's postgresql, nginx-light, wrk, curl and
# python3.
#
#   benchmarks/cluster/run.sh forward      a request over two nodes beside one at the node of its session: CPU, and p99 at 50 connections
#   benchmarks/cluster/run.sh directory    registrations, look-ups, renewals and notices a second
#   benchmarks/cluster/run.sh cache        memory of a name in a node's cache
#   benchmarks/cluster/run.sh large        a node with 10,000 own sessions, and the time in which they register
#   benchmarks/cluster/run.sh simulate     10, 100 and 1,000 nodes with 1 M sessions, from unit costs; more options follow
#   ROUNDS (3), SECONDS_EACH (5), SESSIONS (10000); DATABASE_OPTIONS: more of the connection string, such as "Options=-c synchronous_commit=off"
#
# Ports 18480-18494 must be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
what=${1:-} rounds=${ROUNDS:-3} seconds=${SECONDS_EACH:-5} sessions=${SESSIONS:-10000}
bench="dotnet benchmarks/Tunnel2.ClusterBenchmarks/bin/Release/net10.0/tunnel2-cluster-bench.dll"
postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1 || true)
database="Host=127.0.0.1;Port=18494;Username=postgres;Database=postgres${DATABASE_OPTIONS:+;$DATABASE_OPTIONS}"

start_postgres() { # with its commits on disk, as an operator has it
    [[ -n $postgres ]] || { echo "PostgreSQL is not installed (Debian's package postgresql)" >&2; exit 2; }
    local as=()
    mkdir "$work/pg"
    if [[ $(id -u) == 0 ]]; then chown postgres "$work/pg"; as=(runuser -u postgres --); fi
    "${as[@]}" "$postgres/initdb" -D "$work/pg/data" -U postgres -A trust -E UTF8 --no-locale >/dev/null
    "${as[@]}" "$postgres/postgres" -D "$work/pg/data" -k "$work/pg" -p 18494 -c listen_addresses=127.0.0.1 -c max_connections=200 \
        -c max_wal_size=4GB >"$work/pg.log" 2>&1 &
    pids+=("$!")
    for _ in $(seq 100); do "$postgres/pg_isready" -q -h 127.0.0.1 -p 18494 && return; sleep 0.1; done
    cat "$work/pg.log" >&2
    exit 1
}

start_node() { # name, port: $started
    start_entry "$1" "$2" "--Tunnel2:EntryId=$1" "--Tunnel2:Cluster:Listen=127.0.0.1:$(($2 + 3))" "--Tunnel2:Cluster:Ca=$work/cluster/ca.pem" \
        "--Tunnel2:Cluster:Certificate=$work/cluster/$1.pem" "--Tunnel2:Cluster:Database=$database" --Tunnel2:Uplink:SessionsPerAgent=1000000
    ready $(($2 + 2)) /health/ready 127.0.0.1
}

start_nodes() {
    dotnet "$entry_folder/tunnel2-entry.dll" cluster init --node e1,e2 --out "$work/cluster" >/dev/null
    start_node e1 18481; e1=$started
    start_node e2 18485; e2=$started
}

point() { # port: requests/s, µs of both nodes, p99
    local ticks out requests
    ticks=$(cpu_ticks "$e1" "$e2")
    out=$(wrk -t1 -c50 -d"${seconds}s" --latency -H 'Host: web.localhost' "http://127.0.0.1:$1/s")
    ticks=$(($(cpu_ticks "$e1" "$e2") - ticks))
    if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors:" >&2; echo "$out" >&2; fi
    requests=$(awk '/requests in/{print $1}' <<<"$out")
    awk -v t=$ticks -v n="$requests" -v h="$(getconf CLK_TCK)" -v r="$(awk '/Requests\/sec/{print $2}' <<<"$out")" -v p="$(wrk_p99 <<<"$out")" \
        'BEGIN { printf "%d %.2f %s", r, t * 1e6 / h / n, p }'
}

case $what in
    forward)
        mkdir "$work/www"
        head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
        chmod -R a+rX "$work/www"
        start_postgres
        start_nginx service "server { listen 127.0.0.1:18480 backlog=8192; root $work/www; }"
        start_nodes
        start_agent web 18481 18480
        ready 18481 /s
        ready 18485 /s
        for port in 18481 18485; do wrk -t1 -c50 -d3s -H 'Host: web.localhost' "http://127.0.0.1:$port/s" >/dev/null; done
        echo "round: requests/s, µs of both nodes, p99 in ms; at the session's node, then over two nodes"
        for round in $(seq "$rounds"); do
            # There and back, so that a host that grows slower hits both alike.
            if ((round % 2)); then here=$(point 18481); there=$(point 18485); else there=$(point 18485); here=$(point 18481); fi
            echo "$round: $here   $there" | tee -a "$work/rows"
        done
        awk '{ cpu += $6 / $3; p99 += $7 / $4; n++ }
            END { printf "over two nodes / at the node of the session: CPU of a request %.2f (wanted: at most 1.5), p99 at c=50 %.2f (at most 1.4)\n", cpu / n, p99 / n }' "$work/rows"
        ;;
    directory)
        start_postgres
        $bench directory "$database" "$seconds"
        ;;
    cache)
        $bench cache
        ;;
    large)
        start_postgres
        start_nodes
        before=$(resident "$e1")
        began=$(date +%s.%N)
        dotnet load-tests/Tunnel2.IdleConnections/bin/Release/net10.0/tunnel2-idle.dll sessions --to 127.0.0.1:18482 --count "$sessions" \
            --seconds 20 --pids "$e1" | while read -r line; do printf '%6.1f s  %s\n' "$(echo "$(date +%s.%N) - $began" | bc)" "$line"; done
        echo "the node had $before MB before"
        $bench cache
        ;;
    simulate)
        shift
        $bench simulate "$@"
        ;;
    *)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
esac
