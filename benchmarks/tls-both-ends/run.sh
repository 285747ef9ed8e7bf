#!/usr/bin/env bash
# TLS at both ends: visitors by HTTPS, over HTTP/1.1 and over HTTP/2, and an uplink over TLS, beside two hops of nginx with the same TLS at the same
# two places. One certificate (ECDSA P-256) and TLS 1.3 everywhere; the service (nginx, 1 KiB file) is plain behind both. In turns, on loopback.
# Needs Debian's nginx-light, wrk, nghttp2-client, openssl and curl, and a release build of Tunnel2.sln.
#
#   benchmarks/tls-both-ends/run.sh [rounds, default 3] [seconds for each point, default 5]
#
# CONNECTIONS (50): visitors' connections; over HTTP/2 that many with one stream each, and a tenth of them with ten each. ONLY=tunnel2-tls and
# TUNNEL2_ENGINE=portable as in side-by-side. Ports 18280-18286 must be free. Prints a row for each round, the medians, and the medians of the ratios
# to nginx in the same round. Wanted: requests/s at least 1.0 x nginx, CPU at most 1.3 x.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
rounds=${1:-3} seconds=${2:-5} connections=${CONNECTIONS:-50}
only=${ONLY:-nginx-2hop-tls tunnel2-tls}

mkdir "$work/www"
head -c 1024 /dev/zero | tr '\0' x >"$work/www/s"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=web.localhost -addext 'subjectAltName=DNS:web.localhost,IP:127.0.0.1' \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2>"$work/openssl.err"
chmod -R a+rX "$work"
pin=sha256:$(openssl x509 -in "$work/certificate.pem" -outform der | sha256sum | cut -d' ' -f1)
tls="ssl_certificate $work/certificate.pem; ssl_certificate_key $work/key.pem; ssl_protocols TLSv1.3;"

measure() { # name, port, pids: requests/s, CPU and p99 for each way to ask
    local name=$1 port=$2 row before after requests out streams
    shift 2
    row=$name
    wrk -t1 -c"$connections" -d4s -H 'Host: web.localhost' "https://127.0.0.1:$port/s" >/dev/null
    before=$(cpu_ticks "$@")
    out=$(wrk -t1 -c"$connections" -d"${seconds}s" --timeout 30s --latency -H 'Host: web.localhost' "https://127.0.0.1:$port/s")
    after=$(cpu_ticks "$@")
    requests=$(awk '/requests in/{print $1}' <<<"$out")
    if grep -qE 'Socket errors|Non-2xx' <<<"$out"; then echo "errors over HTTP/1.1:" >&2; echo "$out" >&2; fi
    row+=" $(awk '/Requests\/sec/{printf "%d", $2}' <<<"$out") $(cpu_us "$before" "$after" "$requests") $(wrk_p99 <<<"$out")"
    for streams in 1 10; do
        rm -f "$work/log"
        h2load -c $((connections / streams)) -m $streams -t1 -D 2 --connect-to "127.0.0.1:$port" "https://web.localhost:$port/s" >/dev/null
        before=$(cpu_ticks "$@")
        out=$(h2load -c $((connections / streams)) -m $streams -t1 -D "$seconds" --log-file "$work/log" --connect-to "127.0.0.1:$port" "https://web.localhost:$port/s")
        after=$(cpu_ticks "$@")
        grep -q '^Application protocol: h2' <<<"$out" || { echo "$name: not HTTP/2" >&2; exit 1; }
        requests=$(wc -l <"$work/log")
        # Those that the end cuts off have no status.
        awk '$2 > 0 && $2 != 200 { bad++ } END { exit bad > 0 }' "$work/log" || { echo "errors over HTTP/2:" >&2; echo "$out" >&2; }
        row+=" $((requests / seconds)) $(cpu_us "$before" "$after" "$requests")"
        row+=" $(awk '$2 == 200 { print $3 / 1000 }' "$work/log" | sort -n | awk '{ v[NR] = $1 } END { printf "%.2f", v[int(NR * 0.99)] }')"
    done
    echo "$row" | tee -a "$work/rows"
}

agreed() { # port: what TLS a visitor gets there
    openssl s_client -connect "127.0.0.1:$1" -servername web.localhost </dev/null 2>/dev/null | grep -oE 'TLSv1\.[0-9], Cipher is .*|Server public key is .*|Server Temp Key: .*' | paste -sd ' '
}

wanted() { [[ " $only " == *" $1 "* ]]; }

start_nginx service "server { listen 127.0.0.1:18280 backlog=8192 reuseport; root $work/www; }"
start_nginx inner "upstream u { server 127.0.0.1:18280; keepalive 1200; keepalive_requests 100000000; }
    server { listen 127.0.0.1:18281 ssl backlog=8192; $tls location / { proxy_pass http://u; proxy_set_header Connection \"\"; } }"; inner=$started
start_nginx outer "upstream u { server 127.0.0.1:18281; keepalive 1200; keepalive_requests 100000000; }
    server { listen 127.0.0.1:18282 ssl http2 backlog=8192; $tls location / { proxy_pass https://u; proxy_ssl_protocols TLSv1.3; proxy_set_header Connection \"\"; } }"; outer=$started
ready 18280 /s
for _ in $(seq 50); do curl -skf -o /dev/null https://127.0.0.1:18282/s && break; sleep 0.2; done
echo "nginx:   $(agreed 18282)"

columns="h1_req/s h1_cpu_us h1_p99_ms h2_req/s h2_cpu_us h2_p99_ms h2x10_req/s h2x10_cpu_us h2x10_p99_ms"
echo "who $columns"
for round in $(seq "$rounds"); do
    wanted nginx-2hop-tls && measure "nginx-2hop-tls/$round" 18282 "$inner" "$outer"
    wanted tunnel2-tls || continue
    start_entry entry 18283 --Tunnel2:Public:HttpsListen=127.0.0.1:18286 "--Tunnel2:Public:Certificate=$work/certificate.pem" "--Tunnel2:Public:CertificateKey=$work/key.pem" \
        "--Tunnel2:Uplink:Certificate=$work/certificate.pem" "--Tunnel2:Uplink:CertificateKey=$work/key.pem"; entry=$started
    start_agent web 18283 18280 --server-fingerprint "$pin"; agent=$started
    ready 18283 /s
    # Of the fingerprint that it was given the agent makes TLS a condition; this is for a reader who changes the script.
    grep -q 'Listening for agents on .*(TLS' "$work/entry.log" || { echo "the uplink has no TLS" >&2; exit 1; }
    ((round > 1)) || echo "Tunnel2: $(agreed 18286)"
    measure "tunnel2-tls/$round" 18286 "$entry" "$agent"
    stop "$agent" "$entry"
done

summarise "$work/rows" "$columns" nginx-2hop-tls
