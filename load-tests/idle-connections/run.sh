#!/usr/bin/env bash
# What idle connections cost: idle sessions at ProxyEntry, then idle WebSockets through one agent, with the resident memory of the processes
# while they are open. Everything stays on loopback; takes two minutes. With TUNNEL2_IDLE_SECONDS=600 it is the run in which nothing
# may grow.
#
#   load-tests/idle-connections/run.sh [sessions|websockets|all]    default: all
#   TUNNEL2_IDLE_SESSIONS (1000), TUNNEL2_IDLE_WEBSOCKETS (10000), TUNNEL2_IDLE_SECONDS (30): how many, how long
#   TUNNEL2_IDLE_PORT (12140): the first of four ports
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
what="${1:-all}"
case "$what" in
    sessions | websockets | all) ;;
    *)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
esac

seconds="${TUNNEL2_IDLE_SECONDS:-30}"
port="${TUNNEL2_IDLE_PORT:-12140}"
ulimit -n "$(ulimit -Hn)"
for project in src/Tunnel2.ProxyEntry src/Tunnel2.Client load-tests/Tunnel2.TestBackend load-tests/Tunnel2.IdleConnections; do
    dotnet build -c Release -v quiet --nologo "$project"
done

logs="$(mktemp -d)"
pids=()
cleanup() {
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    wait
    rm -rf "$logs"
}
trap cleanup EXIT

wait_for() {
    for _ in $(seq 100); do
        if grep -q "$2" "$1"; then
            return
        fi
        sleep 0.2
    done
    cat "$1" >&2
    exit 1
}

dotnet src/Tunnel2.ProxyEntry/bin/Release/net10.0/tunnel2-entry.dll --Tunnel2:Public:HttpListen=127.0.0.1:"$port" \
    --Tunnel2:Uplink:Listen=127.0.0.1:"$((port + 1))" --Tunnel2:Admin:Listen=127.0.0.1:"$((port + 2))" >"$logs/entry" 2>&1 &
entry=$!
pids+=("$entry")
until curl -sf -o /dev/null "http://127.0.0.1:$((port + 2))/health/ready"; do
    kill -0 "$entry" || { cat "$logs/entry" >&2; exit 1; }
    sleep 0.2
done

idle=load-tests/Tunnel2.IdleConnections/bin/Release/net10.0/tunnel2-idle.dll
result=0
if [[ "$what" != websockets ]]; then
    echo "idle sessions, ProxyEntry:"
    dotnet "$idle" sessions --to 127.0.0.1:"$((port + 1))" --count "${TUNNEL2_IDLE_SESSIONS:-1000}" --seconds "$seconds" --pids "$entry" --limit-kb-each 64 || result=$?
fi

if [[ "$what" != sessions ]]; then
    dotnet load-tests/Tunnel2.TestBackend/bin/Release/net10.0/tunnel2-testbackend.dll --listen 127.0.0.1:"$((port + 3))" >"$logs/backend" 2>&1 &
    pids+=("$!")
    dotnet src/Tunnel2.Client/bin/Release/net10.0/tunnel2.dll http "$((port + 3))" --server 127.0.0.1:"$((port + 1))" --name web >"$logs/agent" 2>&1 &
    agent=$!
    pids+=("$agent")
    wait_for "$logs/agent" Forwarding
    echo "idle WebSockets, ProxyEntry + agent:"
    dotnet "$idle" websockets --to 127.0.0.1:"$port" --count "${TUNNEL2_IDLE_WEBSOCKETS:-10000}" --seconds "$seconds" --pids "$entry,$agent" --limit-mb 600 || result=$?
fi

exit "$result"
