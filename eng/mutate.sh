#!/usr/bin/env bash
# Mutation testing: breaks one library in many small ways, one at a time, and tells which of them its tests do not notice.
#   bash eng/mutate.sh Tunnel2.Protocol [arguments of dotnet-stryker, such as --mutate '**/FrameHeader.cs']
# The report is in artifacts/mutation/PROJECT. A run takes minutes to hours, on one processor and behind everything else on the machine.
set -euo pipefail
readonly version=5.1.0

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
project=${1:?"which project? for example: bash eng/mutate.sh Tunnel2.Protocol"}
shift
case $project in
    Tunnel2.Client.Core) tests=tests/Tunnel2.Client.Tests ;;
    Tunnel2.ProxyEntry.*) tests=tests/Tunnel2.ProxyEntry.Tests ;;
    *) tests=tests/$project.Tests ;;
esac
[[ -d src/$project && -d $tests ]] || { echo "There is no src/$project with tests in $tests." >&2; exit 2; }

tool=$root/artifacts/tools/dotnet-stryker
[[ -x $tool ]] || dotnet tool install dotnet-stryker --version "$version" --tool-path "$root/artifacts/tools"

cd "$tests"
exec nice -n 19 "$tool" --project "$project.csproj" --configuration Release --concurrency 1 --skip-version-check \
    --reporter cleartext --reporter html --reporter json --output "$root/artifacts/mutation/$project" "$@"
