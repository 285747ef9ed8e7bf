#!/usr/bin/env bash
# Faults of uplinks, for longer than every build has time for: one of four uplinks killed every 200 ms or so for a minute under steady
# requests (only requests under way on it may fail), one black-holed (avoided once seen, dead within 15 s), and an upload of 1 GB with two
# uplinks killed in its course (whole, or a failure that the visitor sees; others unharmed). The same tests run smaller with all others
# (tests/Tunnel2.FunctionalTests/Uplinks). Everything stays on loopback; takes about three minutes.
#
#   load-tests/uplinks/run.sh
#   TUNNEL2_UPLINK_SECONDS (60), TUNNEL2_UPLOAD_MEGABYTES (1000): how long, how much
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if (($# > 0)); then
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi

export TUNNEL2_UPLINK_SECONDS="${TUNNEL2_UPLINK_SECONDS:-60}" TUNNEL2_UPLOAD_MEGABYTES="${TUNNEL2_UPLOAD_MEGABYTES:-1000}"
dotnet build -c Release -v quiet --nologo tests/Tunnel2.FunctionalTests/Tunnel2.FunctionalTests.csproj
# The test program itself rather than dotnet test: it shows the figures as they come.
exec dotnet tests/Tunnel2.FunctionalTests/bin/Release/net10.0/Tunnel2.FunctionalTests.dll -showLiveOutput -noColor \
    -class Tunnel2.FunctionalTests.Uplinks.UplinkFaultTests
