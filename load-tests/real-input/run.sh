#!/usr/bin/env bash
# The checks with real programs that take too long or send too much for every build: a body of 2 GB in both directions with each engine,
# its rate and the peak memory of ProxyEntry and agent; a minute of server-sent events with the delay of each. The same tests run smaller
# with all others (tests/Tunnel2.Programs.Tests/RealPeers). Everything stays on loopback; takes about five minutes.
#
#   load-tests/real-input/run.sh [bodies|events|all]    default: all
#   TUNNEL2_BODY_MEGABYTES (2000), TUNNEL2_SSE_SECONDS (60): how much, how long
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case "${1:-all}" in
    bodies) classes=(BodyTests) ;;
    events) classes=(ServerSentEventsTests) ;;
    all) classes=(BodyTests ServerSentEventsTests) ;;
    *)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
esac

export TUNNEL2_BODY_MEGABYTES="${TUNNEL2_BODY_MEGABYTES:-2000}" TUNNEL2_SSE_SECONDS="${TUNNEL2_SSE_SECONDS:-60}"
filters=()
for class in "${classes[@]}"; do
    filters+=(-class "Tunnel2.Programs.Tests.RealPeers.$class")
done

dotnet build -c Release -v quiet --nologo tests/Tunnel2.Programs.Tests/Tunnel2.Programs.Tests.csproj
# The test program itself rather than dotnet test: it shows the figures as they come.
exec dotnet tests/Tunnel2.Programs.Tests/bin/Release/net10.0/Tunnel2.Programs.Tests.dll -showLiveOutput -noColor "${filters[@]}"
