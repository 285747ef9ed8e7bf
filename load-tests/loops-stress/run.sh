#!/usr/bin/env bash
# ProxyEntry on eight event loops under many things that may happen: visitors by HTTP/1.1 (with and without TLS), HTTP/2 over TLS and WebSocket, slow, fast, pipelining,
# leaving in the middle by FIN and RST; names that are taken over, uplinks that are lost and held up, agents that are stopped and killed. Every answer is compared
# with what it must be. Afterwards streams, credit, buffers, descriptors and threads of ProxyEntry and of an agent are as at the start. Else it exits with 1 and
# says what was different; --seed N plays the same visitors and events again, as far as time lets it. Everything stays on loopback.
#
#   load-tests/loops-stress/run.sh [seconds, default 600] [--seed N]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case "${1:-}" in
    -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
esac

dotnet build -c Release -v quiet --nologo load-tests/Tunnel2.LoopsStress/Tunnel2.LoopsStress.csproj
exec dotnet load-tests/Tunnel2.LoopsStress/bin/Release/net10.0/tunnel2-loops-stress.dll "$@"
