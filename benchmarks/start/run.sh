#!/usr/bin/env bash
# How long a start takes: ProxyEntry until /health/ready answers, the agent until it prints "Forwarding", the first request through both, and the first
# 1,000 requests at 100 a second, each on fresh processes; with code compiled ahead (ReadyToRun, what `dotnet publish` makes) and without, in turns.
# Also how many methods were left to the JIT, from one more start. Needs Debian's nginx-light and python3.
#
#   benchmarks/start/run.sh [FOLDER…]      STARTS (5), REQUESTS (1000)
#
# A FOLDER has the published programs in entry/ and agent/. Without one both forms are published first, to artifacts/start. Ports 18480-18483 must be free.
# Wanted, medians: ready after 0.2 s, Forwarding after 0.12 s, the first request within 20 ms, p99 of the first 1,000 within 10 ms.
set -euo pipefail
folders=()
for folder in "$@"; do folders+=("$(realpath "$folder")"); done
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"

if ((${#folders[@]} == 0)); then
    for form in jit ahead; do
        rm -rf "artifacts/start/$form"
        # One after the other: they share the intermediate files of the libraries.
        for program in entry:ProxyEntry agent:Client; do
            dotnet publish "src/Tunnel2.${program#*:}" -c Release -o "artifacts/start/$form/${program%:*}" "-p:PublishReadyToRun=$([[ $form == ahead ]] && echo true || echo false)" --nologo -v quiet >&2
        done
        folders+=("$PWD/artifacts/start/$form")
    done
fi

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
chmod -R a+rX "$work"
start_nginx service "server { listen 127.0.0.1:18480; root $work/www; }"
ready 18480 /s
python3 benchmarks/start/measure.py "$work" "${STARTS:-5}" "${REQUESTS:-1000}" "${folders[@]}"
