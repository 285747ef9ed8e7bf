#!/usr/bin/env bash
# Prints the version: that of the nearest tag v1.2.3, on the tag itself 1.2.3, after it a version before the next one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    echo "version.sh: this clone is shallow, so that its tags may be missing: git fetch --unshallow --tags, or give the version" >&2
    exit 2
fi
dotnet msbuild eng/version.proj -restore -t:MinVer -getProperty:MinVerVersion
