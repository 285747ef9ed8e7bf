#!/bin/sh
# tunnel2-entry in its container: the server itself, and its commands:
#   docker-compose exec entry tunnel2-entry sessions list
# The tokens that setup.sh has made come from files, so that neither `ps` nor `docker inspect` shows them. What the environment says goes
# first, and without such files nothing is added.
set -eu
state="${TUNNEL2_STATE:-/var/lib/tunnel2}"
if [ -z "${Tunnel2__Admin__Token:-}" ] && [ -s "$state/admin-token" ]; then
    Tunnel2__Admin__Token=$(cat "$state/admin-token")
    export Tunnel2__Admin__Token
fi
if [ -z "${Tunnel2__Admin__MetricsToken:-}" ] && [ -s "$state/metrics-token" ]; then
    Tunnel2__Admin__MetricsToken=$(cat "$state/metrics-token")
    export Tunnel2__Admin__MetricsToken
fi
exec dotnet /opt/tunnel2/tunnel2-entry.dll "$@"
