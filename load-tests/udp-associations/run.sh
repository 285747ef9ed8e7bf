#!/usr/bin/env bash
# What 10,000 associations of datagrams cost: 1,000 visitors at each of ten ports of UDP, each with an address of its own. Each sends datagrams of 100 bytes
# and gets them back; then all are silent. Prints the memory of ProxyEntry and agent before, with all associations silent, and after one datagram of
# 60,000 bytes each, and their threads. On loopback; needs a release build of Tunnel2.sln and python3. Takes about a minute.
#
#   load-tests/udp-associations/run.sh [visitors of each port, default 1000, at most 1024]
#
# Ports 12400-12402, 18400 and 20400-20409 must be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
visitors=${1:-1000}
here=load-tests/udp-associations

python3 $here/associations.py serve 18400 &
pids+=("$!")
{
    echo "server: 127.0.0.1:12401"
    echo "backend-connections: 30000"
    echo "tunnels:"
    for i in $(seq 0 9); do echo "  - { name: u$i, protocol: udp, upstream: 18400, remote-port: $((20400 + i)) }"; done
} >"$work/tunnels.yml"
start_entry entry 12400 --Tunnel2:Udp:Ports=20400-20409 --Tunnel2:Udp:Idle=10m; entry=$started
dotnet "$agent_folder/tunnel2.dll" start --config "$work/tunnels.yml" >"$work/agent.log" &
agent=$!
pids+=("$agent")
for _ in $(seq 150); do [[ $(grep -c '^Forwarding ' "$work/agent.log") == 10 ]] && break; sleep 0.2; done
[[ $(grep -c '^Forwarding ' "$work/agent.log") == 10 ]] || { cat "$work/agent.log" "$work/entry.log" >&2; exit 1; }

show() { # what
    printf '%-34s entry %4s MB, %3s threads   agent %4s MB, %3s threads\n' "$1" \
        "$(resident "$entry")" "$(ls "/proc/$entry/task" | wc -l)" "$(resident "$agent")" "$(ls "/proc/$agent/task" | wc -l)"
}

show "before"
mkfifo "$work/steps"
python3 $here/associations.py visit 20400 10 "$visitors" >"$work/steps" &
pids+=("$!")
while read -r step; do
    [[ $step == FAILED* ]] && { echo "$step"; exit 1; }
    show "$step"
done <"$work/steps"
wait "${pids[-1]}"
