#!/bin/sh
# Makes what the containers have to know of each other, once: a token and its hash, a certificate for the uplink and its fingerprint.
# Each side gets its half: ProxyEntry never sees the token, the agent never the key.
#   /var/lib/tunnel2    ProxyEntry's: appsettings.json, uplink.pem
#   /run/tunnel2-agent  the agent's: token, fingerprint
set -eu
name="${TUNNEL2_NAME:-web}"
entry=/var/lib/tunnel2
agent=/run/tunnel2-agent
umask 077
export DOTNET_EnableDiagnostics=0

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
