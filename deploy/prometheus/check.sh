#!/usr/bin/env bash
# Checks the rules and tests them with series; with an address it also lets a real Prometheus scrape a running ProxyEntry.
#
#   deploy/prometheus/check.sh                       the rules
#   deploy/prometheus/check.sh 127.0.0.1:12002       and a scrape; with Admin:Token: TUNNEL2_METRICS_TOKEN (Admin:MetricsToken) or
#                                                    TUNNEL2_ADMIN_TOKEN in the environment
#
# Needs promtool and prometheus (Debian: apt-get install prometheus), and for the scrape curl. It changes nothing, and ends its Prometheus.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
address=${1:-}
token=${TUNNEL2_METRICS_TOKEN:-${TUNNEL2_ADMIN_TOKEN:-}}

command -v promtool >/dev/null || { echo "promtool is missing: apt-get install prometheus" >&2; exit 2; }
promtool check rules "$here/tunnel2.rules.yml"
(cd "$here" && promtool test rules tunnel2.rules.test.yml)
[[ -n $address ]] || exit 0

work=$(mktemp -d)
server=
# Not before its Prometheus has ended, which writes there.
cleanup() {
    if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT
(umask 077 && printf '%s' "$token" >"$work/token")
cp "$here/tunnel2.rules.yml" "$work/"
cat >"$work/prometheus.yml" <<YAML
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [tunnel2.rules.yml]
scrape_configs:
  - job_name: tunnel2
${token:+    authorization: { credentials_file: $work/token \}}
    static_configs: [{ targets: ["$address"] }]
YAML
promtool check config "$work/prometheus.yml"

# A port below those of outgoing connections, and another one where it is taken: Prometheus itself does not say which one it took.
start() {
    port=$(( 20000 + RANDOM % 12000 ))
    prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --web.listen-address="127.0.0.1:$port" \
        >"$work/prometheus.log" 2>&1 &
    server=$!
}
start

# One figure of a query; empty where there is none.
ask() {
    curl -sS --max-time 5 --get "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1" 2>/dev/null |
        grep -o '"value":\[[^]]*\]' | sed 's/.*,"\(.*\)"\]/\1/' | head -n 1 || true
}

others=0
for _ in $(seq 60); do
    if ! kill -0 "$server" 2>/dev/null; then
        if ! grep -q 'address already in use' "$work/prometheus.log" || ((++others > 5)); then
            echo "prometheus has ended:" >&2
            tail -n 5 "$work/prometheus.log" >&2
            exit 1
        fi
        start
    fi
    [[ $(ask 'up{job="tunnel2"}') == 1 ]] && break
    sleep 0.5
done
if [[ $(ask 'up{job="tunnel2"}') != 1 ]]; then
    echo "$address was not scraped within 30 s:" >&2
    curl -sS --max-time 5 "http://127.0.0.1:$port/api/v1/targets" | grep -o '"lastError":"[^"]*"' >&2 || tail -n 5 "$work/prometheus.log" >&2
    exit 1
fi

echo "scraped $address: tunnel2_build_info $(ask tunnel2_build_info), $(ask 'count({job="tunnel2"})') series"
for rule in instance:tunnel2_processors:rate5m instance_kind:tunnel2_connections:use_ratio; do
    for _ in $(seq 20); do [[ -n $(ask "$rule") ]] && break; sleep 0.5; done
    value=$(ask "$rule")
    [[ -n $value ]] || { echo "no figure from the rule $rule" >&2; exit 1; }
    echo "$rule $value"
done
