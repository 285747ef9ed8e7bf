#!/bin/sh
# Makes what the containers of the profile `cluster` have to know of each other, once. Each gets what is its own, in a volume of its own.
#   /run/tunnel2-ca           stays here: the authority of the cluster with its key
#   /run/tunnel2-nodes/nN     a node's: appsettings.json, uplink.pem, cluster/{ca.pem,secret,nN.pem}, admin-token, metrics-token
#   /run/tunnel2-agent        the agents': token, fingerprint
#   /run/tunnel2-observe      Prometheus': token
set -eu
ca=/run/tunnel2-ca
nodes=/run/tunnel2-nodes
agent=/run/tunnel2-agent
umask 077
export DOTNET_EnableDiagnostics=0
program="dotnet /opt/tunnel2/tunnel2-entry.dll"

if [ ! -s "$ca/done" ]; then
    made=$($program token create --name agents)
    hash=$(printf '%s\n' "$made" | sed -n 's/.*__TokenHash=//p')
    printf '%s\n' "$made" | sed -n '3s/^ *//p' >"$agent/token"
    $program certificate create --host balancer --out "$ca/uplink.pem" >"$agent/fingerprint"
    $program cluster init --node n1,n2,n3 --out "$ca/cluster"
    for kind in admin metrics; do
        head -c 24 /dev/urandom | base64 | tr '+/' '-_' >"$ca/$kind-token"
    done
    for node in n1 n2 n3; do
        mkdir -p "$nodes/$node/cluster"
        cp "$ca/uplink.pem" "$ca/admin-token" "$ca/metrics-token" "$nodes/$node/"
        cp "$ca/cluster/ca.pem" "$ca/cluster/secret" "$ca/cluster/$node.pem" "$nodes/$node/cluster/"
        cat >"$nodes/$node/appsettings.json" <<JSON
{
  "Tunnel2": {
    "Uplink": { "Certificate": "uplink.pem" },
    "Agents": { "agents": { "TokenHash": "$hash", "Names": [ "web", "api" ] } }
  }
}
JSON
    done
    date >"$ca/done"
    echo "made an authority, certificates of three nodes, a token of agents and a certificate for uplinks"
fi

# The volume is mounted here and into Prometheus' container, which runs as another user.
tr -d '\n' <"$ca/metrics-token" >/run/tunnel2-observe/token
chmod 644 /run/tunnel2-observe/token
