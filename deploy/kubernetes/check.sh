#!/usr/bin/env bash
# Compares the manifests with Kubernetes' schemas: values, required fields, and fields that no schema knows. It asks no cluster, and says
# nothing about how they run. Needs node and npm, which fetches kubernetes-models and yaml into a temporary folder.
#
#   deploy/kubernetes/check.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --prefix "$work" --silent --no-audit --no-fund kubernetes-models@4 yaml@2 >&2
node "$here/check.mjs" "$here" "$work"
