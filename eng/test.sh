#!/usr/bin/env bash
# Installs what the tests need, builds everything, checks the formatting and runs all tests.
# The last line of its output is "N passed, N failed" (with ", N skipped" if any); the exit code is 0 only if nothing failed.
#
# TUNNEL2_INSTALL=0 leaves the machine as it is; TUNNEL2_TEST_LANES=1 runs one test project at a time (default: one for each processor).
# Needs: the .NET SDK of global.json, bash, awk; node and npm where tests use them.
set -uo pipefail

# Debian packages that tests use. Installed when missing, if we are root and there is apt-get.
readonly packages=(chromium git)
# Folders with a package-lock.json whose npm packages tests use.
readonly node_folders=(tests/Tunnel2.Programs.Tests/node)
readonly results=artifacts/test-results
readonly functional=Tunnel2.FunctionalTests
readonly load=Tunnel2.LoadTests.Tests
# Projects that run after all others, and alone: they start processes, or measure processor time and memory.
readonly alone=(Tunnel2.Programs.Tests Tunnel2.Budgets.Tests)
# The functional tests that run on every engine.
readonly each_engine='Engine=each'
# A test project that runs for longer than this hangs, and is ended.
readonly time_limit=10m

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export HOME="${HOME:-/tmp}"
export DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1
# No build process stays after the build: neither MSBuild's nodes nor the compiler's server, which is one of our own.
export MSBUILDDISABLENODEREUSE=1
readonly compiler=tunnel2-test-$$

say() { printf '\n== %s\n' "$*"; }

# Counts a failure that no test reports.
broken() { echo "$*" >>"$results/broken"; }

# Runs a step; one that fails counts as a failed test.
step() {
    say "$*"
    "$@" </dev/null && return
    printf 'FAILED: %s\n' "$*"
    broken "$*"
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

# Tunnel2.Full.sln has one more project than Tunnel2.sln: the load suite's scenarios through NBomber, which not every package source has.
build_full() {
    local project=load-tests/Tunnel2.LoadTests.NBomber log=$results/full-restore.log
    if dotnet restore "$project" >"$log" 2>&1 </dev/null; then
        step dotnet build Tunnel2.Full.sln -c Release -p:UseSharedCompilation=true -p:SharedCompilationId="$compiler" &&
            step dotnet run -c Release --no-build --project "$project" -- baseline --duration-scale 0.02 --warm-up 1 --results "$results/nbomber"
        return
    fi

    say "NBomber does not restore here: Tunnel2.Full.sln is not built and its smoke test does not run. Its program is compiled against NBomber's signatures."
    grep -m 1 -E 'error|warning' "$log" || tail -n 1 "$log"
    step dotnet build "$project" -c Release --no-dependencies -p:NBomberSignatures=true -p:UseSharedCompilation=true -p:SharedCompilationId="$compiler"
}

# Adds up the result files.
count_results() {
    local files=("$results"/*.trx)
    [[ -e ${files[0]} ]] || { echo "0 0 0"; return; }
    awk '
        function number(name) { return match($0, " " name "=\"[0-9]+\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) + 0 : 0 }
        /<Counters / {
            failed += number("failed") + number("error") + number("timeout") + number("aborted")
            passed += number("passed")
            skipped += number("total") - number("executed")
        }
        END { print passed + 0, failed + 0, skipped + 0 }
    ' "${files[@]}"
}

stop_compiler() {
    local process
    for process in /proc/[0-9]*; do
        if grep -qsa -- "-pipename:$compiler" "$process/cmdline"; then kill "${process#/proc/}" 2>/dev/null; fi
    done
}

finish() {
    local passed failed skipped
    trap - EXIT
    kill $(jobs -p) 2>/dev/null
    stop_compiler
    read -r passed failed skipped <<<"$(count_results)"
    [[ -f $results/broken ]] && failed=$((failed + $(wc -l <"$results/broken")))
    printf '\n%s passed, %s failed' "$passed" "$failed"
    ((skipped > 0)) && printf ', %s skipped' "$skipped"
    printf '\n'
    ((failed == 0)) && exit 0
    exit 1
}

# Runs the tests of a project in its own process. What it prints is shown when it has ended, so that projects side by side do not mix.
run_tests() { # name of its results, project, more arguments of its test program
    local name=$1 project=$2 log=$results/$1.log began=$SECONDS exit_code
    shift 2
    timeout --kill-after=10 "$time_limit" dotnet "tests/$project/bin/Release/net10.0/$project.dll" \
        -noLogo -noColor -reporter quiet -trx "$results/$name.trx" "$@" >"$log" 2>&1 </dev/null &
    # Runs in a job: who ends the job ends the tests.
    trap "kill $!" TERM
    wait $!
    exit_code=$?
    # A run that failed although its results do not say so: its process did not live to write them.
    if ((exit_code != 0)) && ! grep -qs '<Counters [^>]*failed="[1-9]' "$results/$name.trx"; then
        printf 'FAILED: %s ended with %s and without a failed test.\n' "$name" "$exit_code" >>"$log"
        broken "$name"
    fi
    printf '\n== %s, %s s\n%s\n' "$name" "$((SECONDS - began))" "$(<"$log")"
}

trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

rm -rf "$results"
mkdir -p "$results"
# What is installed waits for the network, and the build does not need it.
if [[ ${TUNNEL2_INSTALL:-1} != 0 ]]; then { install_packages && install_node_packages; } >"$results/install.log" 2>&1 & fi

# The one build. It runs the analyzers, which refuse the style too; the first thing that fails ends it all.
step dotnet build Tunnel2.sln -c Release -p:UseSharedCompilation=true -p:SharedCompilationId="$compiler" || exit 1
build_full
stop_compiler
wait
[[ ! -s $results/install.log ]] || cat "$results/install.log"

# Queues a command for the next free lane.
lanes=${TUNNEL2_TEST_LANES:-$(nproc)}
queue() {
    while (($(jobs -rp | wc -l) >= lanes)); do wait -n; done
    "$@" &
}

# Analyzers do not see the ends of lines and files.
check_format() {
    dotnet format whitespace . --folder --verify-no-changes >"$results/format.log" 2>&1 </dev/null && return
    printf '\nFAILED: dotnet format\n%s\n' "$(<"$results/format.log")"
    broken format
}

say "tests, $lanes projects side by side"
# The longest first, so that no lane ends alone. The functional tests run on three event loops; those that ask the engine the most run on one too, and on
# the thread pool.
queue run_tests "$functional" "$functional"
queue run_tests "$load" "$load"
queue check_format
TUNNEL2_TEST_LOOPS=1 queue run_tests "$functional.one-loop" "$functional" -trait "$each_engine"
TUNNEL2_TEST_ENGINE=portable queue run_tests "$functional.portable" "$functional" -trait "$each_engine"
for path in tests/*Tests/*.csproj; do
    project=$(basename "$path" .csproj)
    [[ " $functional $load ${alone[*]} " == *" $project "* ]] || queue run_tests "$project" "$project"
done
wait

say "tests, one project alone"
lanes=1
for project in "${alone[@]}"; do queue run_tests "$project" "$project"; done
wait
