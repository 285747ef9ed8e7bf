#!/usr/bin/env bash
# Restarts under load, at full size: SIGTERM and restart of the agent, ten takeovers by a second agent, SIGTERM and restart of ProxyEntry,
# each under 200 requests a second that come also while those before them wait; the last one also on listening sockets that another
# process holds, as systemd (deploy/systemd) and tunnel2-ports do, where no visitor may be refused; then 1,000 agents that come back at once after a restart of
# ProxyEntry. Prints what was lost, how long each restart took, and ProxyEntry's memory. The same tests run smaller with all others
# (tests/Tunnel2.Programs.Tests/Restarts). Everything stays on loopback; takes about five minutes.
#
#   load-tests/restarts/run.sh [restarts|sockets|storm|all]    default: all
#   TUNNEL2_RESTART_ROUNDS (10), TUNNEL2_RESTART_RATE (200), TUNNEL2_STORM_AGENTS (1000): how many, how fast
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case "${1:-all}" in
    restarts) classes=(RestartTests HeldUpRestartTests) ;;
    sockets) classes=(HandedOverSocketsTests HeldPortsTests) ;;
    storm) classes=(ReconnectStormTests) ;;
    all) classes=(RestartTests HeldUpRestartTests HandedOverSocketsTests HeldPortsTests ReconnectStormTests) ;;
    *)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
esac

export TUNNEL2_RESTART_ROUNDS="${TUNNEL2_RESTART_ROUNDS:-10}" TUNNEL2_RESTART_RATE="${TUNNEL2_RESTART_RATE:-200}"
export TUNNEL2_STORM_AGENTS="${TUNNEL2_STORM_AGENTS:-1000}"
filters=()
for class in "${classes[@]}"; do
    filters+=(-class "Tunnel2.Programs.Tests.Restarts.$class")
done

dotnet build -c Release -v quiet --nologo tests/Tunnel2.Programs.Tests/Tunnel2.Programs.Tests.csproj
# The test program itself rather than dotnet test: it shows the figures as they come.
exec dotnet tests/Tunnel2.Programs.Tests/bin/Release/net10.0/Tunnel2.Programs.Tests.dll -showLiveOutput -noColor "${filters[@]}"
