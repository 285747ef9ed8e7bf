#!/usr/bin/env bash
# 1,000 hostile connections of HTTP/2, each with a head that is larger than any and never ends: what they pin in ProxyEntry's memory, and
# whether another visitor is served beside them. One row for each kind of head. Everything stays on loopback; takes about a minute.
#
#   load-tests/large-heads/run.sh [--connections N (1000)]
# Needs python3.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case "${1:-}" in
    -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
esac

dotnet build -c Release -v quiet --nologo src/Tunnel2.ProxyEntry/Tunnel2.ProxyEntry.csproj
exec python3 load-tests/large-heads/large_heads.py "$@"
