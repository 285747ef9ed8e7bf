#!/usr/bin/env bash
# 1,000 visitors who take nothing of their answers, 1,000 bodies that a service does not take, over HTTP/1.1 and HTTP/2, all of them mixed, and
# 1,000 honest readers of 64 KiB/s: what another visitor notices who sends 200 small requests a second, beside the same when idle. Fails when
# the 99th percentile is above three times the idle one or one of those requests fails. nginx is the service. Everything stays on loopback;
# takes about five minutes, and needs the machine for itself.
#
#   load-tests/stalled-peers/run.sh [h1-down|h2-down|h1-up|h2-up|mix|slow ...]    default: all
#   --nginx (two hops of nginx without buffering in the place of Tunnel2, for comparison; HTTP/1.1 alone)
#   --kernel-buffers (h1-down: buffers grow as the kernel lets them, the service's to 4 MB, so the machine's memory for all of TCP becomes short)
#   --peers N (1000), --uplinks N (auto), --requests N (2000), --again (who is cut comes back at once), --setting=--Tunnel2:Key=value, --keep (the log)
# Needs Debian's nginx-light and python3.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case "${1:-}" in
    -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
esac

dotnet build -c Release -v quiet --nologo src/Tunnel2.ProxyEntry/Tunnel2.ProxyEntry.csproj
dotnet build -c Release -v quiet --nologo src/Tunnel2.Client/Tunnel2.Client.csproj
exec python3 load-tests/stalled-peers/stalled_peers.py "$@"
