#!/usr/bin/env bash
# Runs testssl.sh against the TLS of ProxyEntry on loopback, and judges it: the listener for visitors (HTTPS) with an EC and with an RSA certificate, and the
# listener for agents. Needs testssl (Debian: testssl.sh, bsdextrautils), openssl, curl, python3, and a release build of ProxyEntry, agent and TestBackend.
#
#   load-tests/tls-scan/run.sh [visitors-ec] [visitors-rsa] [agents]
#
# Ports 12400-12402, 12443 and 18400 must be free. An authority made for the run issues the certificates, and testssl trusts it (--add-ca). Prints each line with
# "NOT ok" or "VULNERABLE", and the versions and ciphers that were offered. The exit code is 0 when no such line is left but two: that every certificate without
# an address for revocation gets, and LUCKY13's "potentially", which every server gets that offers a cipher with CBC. With
# SCAN_OPENSSL_CONF=deploy/tls/openssl.cnf ProxyEntry runs with that file and offers none, and then this line counts too. SCAN_FOLDER keeps what testssl
# printed. A scan takes one to three minutes, and is ended after ten.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
kept=${SCAN_FOLDER:-$work}
mkdir -p "$kept"
scans=("$@")
if [[ -n ${SCAN_OPENSSL_CONF:-} ]]; then entry_pinned="env OPENSSL_CONF=$SCAN_OPENSSL_CONF"; fi
((${#scans[@]})) || scans=(visitors-ec visitors-rsa agents)

(
    cd "$work"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 60 -subj /CN=scan-authority \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
    printf '%s\n' 'subjectAltName=DNS:example.test,DNS:*.example.test,IP:127.0.0.1' 'basicConstraints=critical,CA:FALSE' \
        'keyUsage=critical,digitalSignature' 'extendedKeyUsage=serverAuth' >leaf.ext
    openssl ecparam -name prime256v1 -genkey -noout -out ec.key
    openssl genrsa -out rsa.key 2048 2>/dev/null
    for kind in ec rsa; do
        openssl req -new -key $kind.key -subj /CN=example.test |
            openssl x509 -req -CA ca.pem -CAkey ca.key -set_serial "0x$(openssl rand -hex 16)" -days 30 -sha256 -extfile leaf.ext -out $kind.crt 2>/dev/null
        cat $kind.crt ca.pem $kind.key >$kind.pem
    done
)

dotnet "${TUNNEL2_BACKEND_FOLDER:-load-tests/Tunnel2.TestBackend/bin/Release/net10.0}/tunnel2-testbackend.dll" --listen 127.0.0.1:18400 >"$work/backend.log" &
pids+=("$!")

scan() { # name, key's kind, port
    local log=$kept/$1.txt server agent
    start_entry "$1" 12400 --Tunnel2:Domain=example.test --Tunnel2:Public:HttpsListen=127.0.0.1:12443 "--Tunnel2:Public:Certificate=$work/$2.pem" \
        "--Tunnel2:Uplink:Certificate=$work/$2.pem" --Tunnel2:Https:Hsts=8760h
    server=$started
    start_agent web 12400 18400 --server-ca "$work/ca.pem"
    agent=$started
    ready 12400 /bytes/5 web.example.test
    # Its own exit code counts findings of every weight, and what the scan judges is in the text.
    timeout 600 testssl --quiet --warnings off --color 0 --nodns none --ip 127.0.0.1 --add-ca "$work/ca.pem" --connect-timeout 10 --openssl-timeout 10 \
        "web.example.test:$3" >"$log" 2>"$work/$1.err" </dev/null || true
    stop "$agent" "$server"
    python3 - "$1" "$log" "${SCAN_OPENSSL_CONF:-}" <<'P' || failed=1
import re, sys
name, path, narrowed = sys.argv[1:4]
text = open(path, errors='replace').read()
if 'Rating' not in text and 'Done 20' not in text:
    print(f'{name}: the scan did not come to its end'); sys.exit(1)
print(f'{name}:')
for line in re.findall(r'^ (?:SSLv2|SSLv3|TLS 1(?:\.\d)?|ALPN/HTTP2)\s.*$', text, re.M): print('  ' + ' '.join(line.split()))
print('  ciphers: ' + ' '.join(sorted(set(re.findall(r'\bTLS_[A-Z0-9_]+\b', text)) - {'TLS_FALLBACK_SCSV'})))
bad = [' '.join(line.split()) for line in text.splitlines() if 'NOT ok' in line or 'VULNERABLE' in line]
left = [line for line in bad if 'neither CRL nor OCSP' not in line and (narrowed or 'potentially VULNERABLE' not in line)]
for line in bad: print(('  ' if line in left else '  (counts not) ') + line)
print(f'  {len(left)} lines that should not be there')
sys.exit(1 if left else 0)
P
}

failed=0
for name in "${scans[@]}"; do
    case $name in
        visitors-ec) scan "$name" ec 12443 ;;
        visitors-rsa) scan "$name" rsa 12443 ;;
        agents) scan "$name" ec 12401 ;;
        *) echo "no scan is called $name" >&2; exit 2 ;;
    esac
done
exit "$failed"
