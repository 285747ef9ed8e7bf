#!/usr/bin/env bash
# Makes the image of a program of one file, in the docker of this machine: eng/release.sh calls it.
#   release.sh PROGRAM VERSION FILE WORK
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$1 version=$2 file=$3 folder=$4/image-$1
mkdir -p "$folder/state"
chmod 700 "$folder/state"
cp "$file" "$folder/program"
docker build --quiet --file "$here/release.Dockerfile" --target "$program" --build-arg FILE=program --tag "$program:$version" "$folder"
docker image inspect --format '{{.Size}} bytes' "$program:$version"
rm -rf "$folder"
