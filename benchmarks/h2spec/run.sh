#!/usr/bin/env bash
# Runs h2spec against the HTTPS listener of a ProxyEntry with an agent and a service (nginx), on loopback. h2spec is built from its public source
# with Debian's Go and its library packages; nothing of it is kept. Needs golang-go, golang-golang-x-net-dev, golang-github-spf13-cobra-dev,
# golang-github-fatih-color-dev, nginx-light, git and curl, and a release build of Tunnel2.sln.
#
#   benchmarks/h2spec/run.sh [more arguments of h2spec, such as "-v" or a section: "http2/6.5"]
#
# H2SPEC_SOURCE is where its source is cloned from. Ports 12000-12002, 12443 and 18080 must be free. The last line is h2spec's own sum. The exit code is 0 when at
# most H2SPEC_FAILURES (1) cases failed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
source_of_h2spec=${H2SPEC_SOURCE:-https://github.com/summerwind/h2spec.git}
most_failures=${H2SPEC_FAILURES:-1}

package=$work/go/src/github.com/summerwind/h2spec
git clone -q --depth 1 "$source_of_h2spec" "$package" 2>/dev/null || git clone -q "$source_of_h2spec" "$package"
(cd "$package" && GO111MODULE=off GOFLAGS=-p=1 GOCACHE="$work/cache" GOPATH="$work/go:/usr/share/gocode" go build -o "$work/h2spec" ./cmd/h2spec)

start_nginx service "server { listen 127.0.0.1:18080; location / { return 200 well; } }"
start_entry entry 12000 --Tunnel2:Public:HttpsListen=127.0.0.1:12443 --Tunnel2:Public:Certificate=self-made --Tunnel2:TestMode=true
start_agent web 12000 18080
ready 12000 /
# h2spec calls by address: in test mode the name may be in the path.
timeout 600 "$work/h2spec" -h 127.0.0.1 -p 12443 -t -k -o 5 -P /session/web/ "$@" >"$work/out" || true
cat "$work/out"
failed=$(sed -n 's/.* \([0-9]*\) failed$/\1/p' "$work/out" | tail -1)
[[ -n $failed && $failed -le $most_failures ]]
