#!/usr/bin/env bash
# Takes pictures of every page of the dashboard: empty, busy, failing and guarded (access rules, a tier, certificates of every state), 1280 and
# 400 pixels wide, light and dark; busy also at 3840 pixels.
# And of the inspector, also with a node of a cluster that is lost: 1280 and 400 pixels wide, light and dark.
#   eng/pictures.sh [FOLDER] [SECONDS]     artifacts/pictures, with requests for 60 s before the pictures of busy and failing
# docs/pictures has a choice of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export TUNNEL2_PICTURES=${1:-$PWD/artifacts/pictures} TUNNEL2_PICTURES_SECONDS=${2:-60}
mkdir -p "$TUNNEL2_PICTURES"
dotnet test -c "${CONFIGURATION:-Release}" tests/Tunnel2.Programs.Tests/Tunnel2.Programs.Tests.csproj \
    --filter 'FullyQualifiedName~DashboardPageTests.Every_page_fits|FullyQualifiedName~InspectorPageTests.Every_part_fits|FullyQualifiedName~InspectorPageTests.A_killed_node_is_named'
ls "$TUNNEL2_PICTURES"
