#!/usr/bin/env bash
# The update of a running cluster: three nodes of an older release are replaced in turn by this one, one of them goes back and forth, with
# 200 requests a second and WebSockets through all of them. The older release is built in a work tree of its own below artifacts.
#
#   load-tests/cluster-faults/upgrade.sh [REVISION] [--seconds N] [--rate N]      without one: the last tag, else the commit below
#   load-tests/cluster-faults/upgrade.sh REVISION --loopback                      without namespaces and without rights
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# Where there is no tag: the commit with the first live view over all nodes, with version 3 of the tables.
readonly first=f8c564fb folder=$PWD/artifacts/upgrade
revision=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || echo "$first")
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then
    revision=$1
    shift
fi

if ! commit=$(git rev-parse --verify --quiet "$revision^{commit}"); then
    echo "upgrade.sh: there is no revision '$revision' in this clone" >&2
    exit 2
fi

trap 'git worktree remove --force "$folder/tree" 2>/dev/null || true' EXIT
if [ ! -f "$folder/$commit/tunnel2-entry.dll" ]; then
    rm -rf "$folder"
    git worktree prune
    git worktree add --quiet --detach "$folder/tree" "$commit"
    # Style is checked where the version was made.
    MSBUILDDISABLENODEREUSE=1 dotnet publish "$folder/tree/src/Tunnel2.ProxyEntry" -c Release -o "$folder/$commit" -v:quiet --nologo -m:1 \
        -p:RunAnalyzers=false -p:TreatWarningsAsErrors=false -p:PublishReadyToRun=false -p:UseSharedCompilation=false
fi

echo "older release: $revision (${commit:0:8})"
load-tests/cluster-faults/run.sh upgrade --older "$folder/$commit/tunnel2-entry.dll" "$@"
