#!/bin/sh
# Makes what the containers have to know of each other, once: a token and its hash, a certificate for the uplink and its fingerprint.
# Each side gets its half: ProxyEntry never sees the token, the agent never the key.
#   /var/lib/tunnel2    ProxyEntry's: appsettings.json, uplink.pem, admin-token, metrics-token
#   /run/tunnel2-agent  the agent's: token, fingerprint
#   /run/tunnel2-observe  Prometheus': token, a copy of metrics-token that its own user can read
set -eu
name="${TUNNEL2_NAME:-web}"
entry=/var/lib/tunnel2
agent=/run/tunnel2-agent
umask 077
export DOTNET_EnableDiagnostics=0

# On their own: a state that was made before there were any gets them too.
for kind in admin metrics; do
    if [ ! -s "$entry/$kind-token" ]; then
        head -c 24 /dev/urandom | base64 | tr '+/' '-_' >"$entry/$kind-token"
        echo "made a token for $kind"
    fi
done

# The volume is mounted here and into Prometheus' container, which runs as another user.
if [ -d /run/tunnel2-observe ]; then
    tr -d '\n' <"$entry/metrics-token" >/run/tunnel2-observe/token
    chmod 644 /run/tunnel2-observe/token
fi

if [ -s "$entry/appsettings.json" ] && [ -s "$agent/token" ] && [ -s "$agent/fingerprint" ]; then
    echo "token and certificate are there already"
    exit 0
fi

program="dotnet /opt/tunnel2/tunnel2-entry.dll"
made=$($program token create --name "$name")
hash=$(printf '%s\n' "$made" | sed -n 's/.*__TokenHash=//p')
printf '%s\n' "$made" | sed -n '3s/^ *//p' >"$agent/token"
$program certificate create --host "${TUNNEL2_ENTRY_HOST:-entry}" --out "$entry/uplink.pem" >"$agent/fingerprint"
printf '{\n  "Tunnel2": {\n    "Uplink": { "Certificate": "%s" },\n    "Agents": { "%s": { "TokenHash": "%s", "Names": [ "%s" ] } }\n  }\n}\n' \
    "$entry/uplink.pem" "$name" "$hash" "$name" >"$entry/appsettings.json"
echo "made a token for '$name' and a certificate for the uplink"
