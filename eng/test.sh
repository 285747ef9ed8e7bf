#!/usr/bin/env bash
# Installs what the tests need, builds everything, checks the formatting and runs all tests.
# The last line of its output is "N passed, N failed" (with ", N skipped" if any); the exit code is 0 only if nothing failed.
#
# TUNNEL2_INSTALL=0 leaves the machine as it is. Needs: the .NET SDK of global.json, bash, awk; node and npm where tests use them.
set -uo pipefail

# Debian packages that tests use. Installed when missing, if we are root and there is apt-get.
readonly packages=(chromium git)
# Folders with a package-lock.json whose npm packages tests use.
readonly node_folders=(tests/Tunnel2.FunctionalTests/node)
readonly results=artifacts/test-results
readonly functional=tests/Tunnel2.FunctionalTests/Tunnel2.FunctionalTests.csproj
# The functional tests that run on every engine (trait Engine).
readonly each_engine='Engine=each'
# A test that makes no progress for this long ends its test host.
readonly hang_timeout=5m

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export HOME="${HOME:-/tmp}"
export DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1
# No build process stays behind and holds our output open.
export MSBUILDDISABLENODEREUSE=1

broken_steps=0

say() { printf '\n== %s\n' "$*"; }

# Runs a step; one that fails counts as a failed test.
step() {
    say "$*"
    "$@" </dev/null && return
    printf 'FAILED: %s\n' "$*"
    broken_steps=$((broken_steps + 1))
    return 1
}

install_packages() {
    local missing=() package
    for package in "${packages[@]}"; do
        [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == "install ok installed" ]] || missing+=("$package")
    done
    ((${#missing[@]} > 0)) || return 0
    if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
        printf 'Not installed, and not ours to install: %s. Tests that need them will say so.\n' "${missing[*]}"
        return 0
    fi

    say "apt-get install ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -q update && apt-get -q install -y --no-install-recommends "${missing[@]}"; } </dev/null ||
        printf 'Could not install %s. Tests that need them will say so.\n' "${missing[*]}"
}

install_node_packages() {
    local folder
    for folder in "${node_folders[@]}"; do
        [[ -f $folder/package-lock.json ]] || continue
        # npm writes this file last: an older lock file means that everything is there already.
        [[ $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]] && continue
        # Not npm ci: it wants the optional packages of every other platform in the lock file, which not every registry has.
        step npm install --no-save --prefix "$folder" --no-audit --no-fund
    done
}

# Adds up the result files. A file whose run ended badly without a failed test (a crashed host) counts as one failure.
count_results() {
    local files=("$results"/*.trx)
    [[ -e ${files[0]} ]] || { echo "0 0 0"; return; }
    awk '
        function number(text, name) { return match(text, " " name "=\"[0-9]+\"") ? substr(text, RSTART + length(name) + 3, RLENGTH - length(name) - 4) + 0 : 0 }
        function close_file() { if (bad && !bad_tests) failed++; bad = bad_tests = 0 }
        FNR == 1 { close_file() }
        /<ResultSummary / { bad = /outcome="(Failed|Error|Aborted|Timeout)"/ }
        /<Counters / {
            bad_tests += number($0, "failed") + number($0, "error") + number($0, "timeout") + number($0, "aborted")
            failed += number($0, "failed") + number($0, "error") + number($0, "timeout") + number($0, "aborted")
            passed += number($0, "passed")
            skipped += number($0, "total") - number($0, "executed")
        }
        END { close_file(); print passed + 0, failed + 0, skipped + 0 }
    ' "${files[@]}"
}

finish() {
    local passed failed skipped
    trap - EXIT
    read -r passed failed skipped <<<"$(count_results)"
    # A test run that failed although no result file says so: its host did not live to write one.
    if ((test_exit != 0 && failed == 0)); then
        printf 'FAILED: dotnet test ended with %s and without a failed test.\n' "$test_exit"
        failed=1
    fi

    failed=$((failed + broken_steps))
    printf '\n%s passed, %s failed' "$passed" "$failed"
    ((skipped > 0)) && printf ', %s skipped' "$skipped"
    printf '\n'
    ((failed == 0)) && exit 0
    exit 1
}

test_exit=1
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

rm -rf "$results"
mkdir -p "$results"
if [[ ${TUNNEL2_INSTALL:-1} != 0 ]]; then
    install_packages
    install_node_packages
fi

if ! step dotnet restore Tunnel2.sln || ! step dotnet build Tunnel2.sln -c Release --no-restore; then
    test_exit=0 # The broken step is counted; no test ran.
    exit 1
fi

step dotnet format Tunnel2.sln --verify-no-changes --no-restore

# Runs tests; the worst exit code of all runs counts.
worst_exit=0
run_tests() {
    local exit_code
    dotnet test "$@" -c Release --no-build --logger trx --results-directory "$results" \
        --blame-hang --blame-hang-timeout "$hang_timeout" --blame-hang-dump-type none </dev/null
    exit_code=$?
    ((exit_code > worst_exit)) && worst_exit=$exit_code
}

# One project at a time (-m:1): tests that measure time do not share the machine with others.
say "dotnet test"
run_tests Tunnel2.sln -m:1

# Above, the functional tests ran on three event loops. Those that ask the engine the most run on one too, and on the thread pool.
say "dotnet test on one event loop"
TUNNEL2_TEST_LOOPS=1 run_tests "$functional" --filter "$each_engine"
say "dotnet test on the portable engine"
TUNNEL2_TEST_ENGINE=portable run_tests "$functional" --filter "$each_engine"
test_exit=$worst_exit
