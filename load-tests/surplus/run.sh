#!/usr/bin/env bash
# Services that send bytes behind the end of their answers, up to 200 ms late and at random: whole answers without a request. 64 visitors at
# once, 100,000 requests to each kind of service, plain and TLS: none may get a byte of an answer that is not its own. The same test runs
# smaller with all others (tests/Tunnel2.FunctionalTests/Backends/SurplusTests). Everything stays on loopback; takes some minutes.
#
#   load-tests/surplus/run.sh
#   TUNNEL2_SURPLUS_REQUESTS, TUNNEL2_SURPLUS_TLS_REQUESTS (100000): how many; TUNNEL2_TEST_ENGINE=portable: the other engine
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if (($# > 0)); then
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi

export TUNNEL2_SURPLUS_REQUESTS="${TUNNEL2_SURPLUS_REQUESTS:-100000}" TUNNEL2_SURPLUS_TLS_REQUESTS="${TUNNEL2_SURPLUS_TLS_REQUESTS:-100000}"
dotnet build -c Release -v quiet --nologo tests/Tunnel2.FunctionalTests/Tunnel2.FunctionalTests.csproj
# The test program itself rather than dotnet test: it shows the figures as they come.
exec dotnet tests/Tunnel2.FunctionalTests/bin/Release/net10.0/Tunnel2.FunctionalTests.dll -showLiveOutput -noColor \
    -method Tunnel2.FunctionalTests.Backends.SurplusTests.Under_load_no_visitor_ever_gets_a_byte_of_an_earlier_answer
