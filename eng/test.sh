#!/usr/bin/env bash
# Installs what the tests need, builds everything, checks the formatting and runs all tests.
# The last line of its output is "N passed, N failed" (with ", N skipped" if any); the exit code is 0 only if nothing failed.
#
# TUNNEL2_INSTALL=0 leaves the machine as it is; TUNNEL2_TEST_LANES=1 runs one test project at a time (default: one for two processors; with
# one more, tests that measure time fail now and then).
# Needs: the .NET SDK of global.json, bash, awk; node and npm where tests use them.
set -uo pipefail

# Debian packages that tests use. Installed when missing, if we are root and there is apt-get.
readonly packages=(chromium fish git ngtcp2-client ngtcp2-server postgresql python3-aiohttp python3-grpcio python3-tornado python3-websockets zsh)
# Folders with a package-lock.json whose npm packages tests use.
readonly node_folders=(tests/Tunnel2.Programs.Tests/node)
readonly results=artifacts/test-results
# The product's assemblies, compiled ahead.
readonly ahead=artifacts/ahead
# Programs that are unpacked and not installed; those of the system come first.
readonly tools=artifacts/tools
readonly functional=Tunnel2.FunctionalTests
readonly programs=Tunnel2.Programs.Tests
readonly load=Tunnel2.LoadTests.Tests
# Runs after all others, and alone: budgets of processor time and memory. So do the tests of programs with the trait, which measure processes.
readonly budgets=Tunnel2.Budgets.Tests
readonly alone='Alone=yes'
# The functional tests that run on every engine.
readonly each_engine='Engine=each'
# A test project that runs for longer than this hangs, and is ended. A test that runs for two minutes is named.
readonly time_limit=10m

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export HOME="${HOME:-/tmp}" PATH="$PATH:$PWD/$tools/prometheus/usr/bin:$PWD/$tools/pebble/usr/bin"
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

# Debian's Prometheus, and pebble, an authority for tests of certificates. The package of Prometheus, installed, would start a service that
# listens on all addresses of the machine.
unpack_prometheus() {
    command -v promtool >/dev/null && command -v prometheus >/dev/null || unpack prometheus
}

unpack_pebble() {
    command -v pebble >/dev/null || unpack pebble
}

unpack() {
    local package=$1 folder=$tools/$1
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 0
    say "unpacking Debian's $package"
    rm -rf "$folder" "$folder.new" && mkdir -p "$folder.new" &&
        (cd "$folder.new" && { apt-get -q download "$package" || { apt-get -q update && apt-get -q download "$package"; }; } &&
            dpkg-deb -x "${package}"_*.deb . && rm "${package}"_*.deb) </dev/null && mv "$folder.new" "$folder" ||
        printf 'Could not unpack %s. Tests that need it will say so.\n' "$package"
    rm -rf "$folder.new"
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

# Tunnel2.Full.sln has one more project than Tunnel2.sln: the load suite's scenarios through NBomber, which not every package source has. It is built
# beside the tests, which need nothing of it. The projects that it refers to have been built.
build_full() {
    local project=load-tests/Tunnel2.LoadTests.NBomber log=$results/full-restore.log
    if dotnet restore "$project" >"$log" 2>&1 </dev/null; then
        step dotnet build "$project" -c Release --no-restore --no-dependencies -p:UseSharedCompilation=false &&
            step dotnet run -c Release --no-build --project "$project" -- baseline --duration-scale 0.02 --warm-up 1 --results "$results/nbomber"
        return
    fi

    say "NBomber does not restore here: its project of Tunnel2.Full.sln is compiled against NBomber's signatures, and its smoke test does not run."
    grep -m 1 -E 'error|warning' "$log" || tail -n 1 "$log"
    step dotnet build "$project" -c Release --no-dependencies -p:NBomberSignatures=true -p:UseSharedCompilation=false
}

# Finds the compiler of `dotnet publish` for code that is compiled ahead, with its arguments: one line, with semicolons between them.
find_ahead() {
    dotnet msbuild eng/ahead/ahead.proj -restore -t:FindCompiler -getProperty:Compiler >"$results/ahead.log" 2>&1 </dev/null
}

compile_ahead() { # assembly
    local output=$ahead/${1##*/}
    [[ $output -nt $1 ]] && return
    "${ahead_compiler[@]}" "$1" -o "$output.new" --parallelism 1 -r "tests/$functional/bin/Release/net10.0/*.dll" \
        -r "src/Tunnel2.Client/bin/Release/net10.0/*.dll" >"$output.log" 2>&1 && mv "$output.new" "$output" && return
    printf 'Not compiled ahead: %s\n%s\n' "$1" "$(tail -n 1 "$output.log")"
    rm -f "$output"
}

# Puts what was compiled ahead where the tests start it. The next build puts its own there again. Budgets are measured as they are built.
use_ahead() { # assembly
    local copy
    [[ -f $ahead/${1##*/} ]] || return 0
    for copy in {src,samples,load-tests,benchmarks,tests}/*/bin/Release/net10.0/"${1##*/}"; do
        if [[ $copy != */$budgets/* ]] && cmp -s "$1" "$copy"; then cp "$ahead/${1##*/}" "$copy"; fi
    done
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
        -noLogo -noColor -reporter quiet -longRunning 120 -trx "$results/$name.trx" "$@" >"$log" 2>&1 </dev/null &
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
mkdir -p "$results" "$ahead"
# What is installed waits for the network, and the build does not need it.
if [[ ${TUNNEL2_INSTALL:-1} != 0 ]]; then { install_packages && unpack_prometheus && unpack_pebble && install_node_packages; } >"$results/install.log" 2>&1 & fi
find_ahead &

# The one build. It runs the analyzers, which refuse the style too; the first thing that fails ends it all. Its processes live for a minute or two:
# compiling their hot code once more with counters does not pay.
DOTNET_TieredPGO=0 step dotnet build Tunnel2.sln -c Release -p:RestoreUseStaticGraphEvaluation=true \
    -p:UseSharedCompilation=true -p:SharedCompilationId="$compiler" || exit 1
stop_compiler
wait
[[ ! -s $results/install.log ]] || cat "$results/install.log"

# Queues a command for the next free lane.
lanes=${TUNNEL2_TEST_LANES:-$((($(nproc) + 1) / 2))}
queue() {
    while (($(jobs -rp | wc -l) >= lanes)); do wait -n; done
    "$@" &
}

# Half of a program's start is the JIT's work, and the tests start hundreds: their programs are compiled ahead, as those of `dotnet publish`.
lanes_of_tests=$lanes
lanes=$(nproc)
IFS=';' read -ra ahead_compiler < <(tail -n 1 "$results/ahead.log")
if [[ -x ${ahead_compiler[0]:-} ]]; then
    say "compiling ahead"
    # The largest first, so that no processor ends alone. Copies are replaced when no compiler reads them.
    mapfile -t assemblies < <(ls -S {src/*,load-tests/Tunnel2.TestBackend,tests/Tunnel2.TestUtilities}/obj/Release/net10.0/*.dll)
    for assembly in "${assemblies[@]}"; do queue compile_ahead "$assembly"; done
    wait
    for assembly in "${assemblies[@]}"; do use_ahead "$assembly"; done
else
    say "The compiler for code ahead does not restore here: the tests take longer."
fi
lanes=$lanes_of_tests

# Analyzers do not see the ends of lines and files.
check_format() {
    dotnet format whitespace . --folder --verify-no-changes >"$results/format.log" 2>&1 </dev/null && return
    printf '\nFAILED: dotnet format\n%s\n' "$(<"$results/format.log")"
    broken format
}

# Shown when it has ended, as what a project prints.
build_full_beside() {
    build_full >"$results/full.log" 2>&1
    cat "$results/full.log"
}

say "tests, $lanes projects side by side"
# The longest first, so that no lane ends alone. The functional tests run on three event loops; those that ask the engine the most run on one too, and on
# the thread pool.
queue run_tests "$programs" "$programs" -trait- "$alone"
queue run_tests "$functional" "$functional"
queue run_tests "$load" "$load"
queue check_format
queue build_full_beside
TUNNEL2_TEST_LOOPS=1 queue run_tests "$functional.one-loop" "$functional" -trait "$each_engine"
TUNNEL2_TEST_ENGINE=portable queue run_tests "$functional.portable" "$functional" -trait "$each_engine"
for path in tests/*Tests/*.csproj; do
    project=$(basename "$path" .csproj)
    [[ " $functional $programs $load $budgets " == *" $project "* ]] || queue run_tests "$project" "$project"
done
wait

say "tests that measure, alone"
lanes=1
queue run_tests "$programs.alone" "$programs" -trait "$alone"
queue run_tests "$budgets" "$budgets"
wait
