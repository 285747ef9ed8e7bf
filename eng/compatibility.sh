#!/usr/bin/env bash
# Tries agents and servers of two versions with each other, and writes what it saw into docs/compatibility.md.
#
#   bash eng/compatibility.sh          with the last tag, else with the commit below
#   bash eng/compatibility.sh v1.2.3   with this revision
#
# The other version is built in a work tree of its own below artifacts. Needs python3, which is the service and the visitors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 MSBUILDDISABLENODEREUSE=1
# Where there is no tag: before access rules, TCP and UDP, and before uplinks over WebSocket.
readonly first=20e2e81f
readonly folder=$PWD/artifacts/compatibility compiler=tunnel2-compatibility-$$
readonly tree=$folder/tree

revision=${1:-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || echo "$first")}
if ! commit=$(git rev-parse --verify --quiet "$revision^{commit}"); then
    echo "compatibility.sh: there is no revision '$revision' in this clone" >&2
    exit 2
fi

stop() {
    local process
    for process in /proc/[0-9]*; do
        if grep -qsa -- "-pipename:$compiler" "$process/cmdline"; then kill "${process#/proc/}" 2>/dev/null || true; fi
    done
    git worktree remove --force "$tree" 2>/dev/null || true
}
trap stop EXIT

build() { # root of the sources, folder for the programs
    local project
    for project in Tunnel2.Client Tunnel2.ProxyEntry; do
        # Style is checked where the version was made. A newer SDK has advice that did not exist then.
        dotnet publish "$1/src/$project" -c Release -o "$2/$project" -v:quiet -m:1 -p:RunAnalyzers=false -p:TreatWarningsAsErrors=false \
            -p:PublishReadyToRun=false -p:UseSharedCompilation=true -p:SharedCompilationId="$compiler"
    done
}

rm -rf "$folder"
git worktree prune
mkdir -p "$folder"
echo "== building $revision (${commit:0:8})"
git worktree add --quiet --detach "$tree" "$commit"
build "$tree" "$folder/old"
echo "== building this version"
build . "$folder/new"
stop

python3 eng/compatibility/check.py --old "$folder/old" --new "$folder/new" --revision "$revision" \
    --date "$(git log -1 --format=%cs "$commit")" --document docs/compatibility.md
