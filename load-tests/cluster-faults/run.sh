#!/usr/bin/env bash
# Faults of a cluster under load: PostgreSQL, three nodes and agents as processes of their own, 200 requests a second with checked bodies
# through all nodes, and one thing that fails: a node, the database, the network between them, a clock, a certificate. It prints what
# failed and for how long, and judges it against what docs/cluster.md promises. Nodes are in network namespaces that it makes and that end
# with it, with a packet filter in each; nothing leaves them. Needs root, Debian's postgresql, nftables and iproute2, and for the
# case 'clock' libfaketime. All cases take 15 minutes.
#
#   load-tests/cluster-faults/run.sh [CASE...] [--seconds N] [--rate N] [--agents N]
#   load-tests/cluster-faults/run.sh --loopback [CASE...]      without namespaces and without rights; nothing is cut
#   load-tests/cluster-faults/run.sh --help                    the cases
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ -n "${TUNNEL2_BUILT:-}" ] || dotnet build -c Release -v quiet --nologo load-tests/Tunnel2.ClusterFaults/Tunnel2.ClusterFaults.csproj
program=(dotnet load-tests/Tunnel2.ClusterFaults/bin/Release/net10.0/tunnel2-cluster-faults.dll)
case " $* " in
    *" --loopback "* | *" --help "*) exec "${program[@]}" "$@" ;;
esac

if [ "$(id -u)" != 0 ]; then
    echo "Network namespaces need root; --loopback runs the cases that cut nothing." >&2
    exit 2
fi

exec unshare --net --mount --propagation private -- "${program[@]}" "$@"
