#!/usr/bin/env bash
# Uses the packages of Debian and the container images of a release as their reader would, and says what works. Run it as root.
#
#   bash eng/release.sh --version 1.2.3 --rids linux-x64 --skip nuget,native,sbom
#   bash eng/check-packages.sh                       both parts, with the files of artifacts/release
#   bash eng/check-packages.sh --only debian         or images
#   bash eng/check-packages.sh --stand-in            images on a base of Debian's files, where .NET's image cannot be fetched
#   bash eng/check-packages.sh --suite trixie        another Debian; --mirror ADDRESS: from there, otherwise from where debootstrap takes it
#
# debian needs debootstrap and systemd-nspawn (systemd-container): it boots a Debian of its own, in a network of its own. images needs a
# docker that runs, curl and python3, and with --stand-in debootstrap. The Debian stays in artifacts/check-packages for the next run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly release=$PWD/artifacts/release work=$PWD/artifacts/check-packages

only=debian,images suite=bookworm mirror= stand_in=no
while (($# > 0)); do
    case $1 in
        --only) only=${2:?--only needs debian or images} && shift ;;
        --suite) suite=${2:?--suite needs a name} && shift ;;
        --mirror) mirror=${2:?--mirror needs an address} && shift ;;
        --stand-in) stand_in=yes ;;
        *) echo "check-packages.sh: '$1' is not an option here (--only, --suite, --mirror, --stand-in)" >&2 && exit 2 ;;
    esac
    shift
done
if [ "$(id -u)" != 0 ]; then echo "check-packages.sh: it boots a system and reads other users' processes: run it as root" >&2 && exit 2; fi
case $(uname -m) in
    x86_64) architecture=amd64 rid=linux-x64 ;;
    aarch64) architecture=arm64 rid=linux-arm64 ;;
    *) echo "check-packages.sh: there are no packages for $(uname -m)" >&2 && exit 2 ;;
esac
program=$(find "$release" -maxdepth 1 -name "tunnel2-entry_*_$rid" -print -quit 2>/dev/null || true)
if [ -z "$program" ]; then echo "check-packages.sh: first make them: bash eng/release.sh --version 1.2.3 --rids $rid" >&2 && exit 2; fi
version=${program##*/tunnel2-entry_} version=${version%_"$rid"}
readonly only suite mirror stand_in architecture rid version

passed=0 failed=0

say() { printf '\n== %s\n' "$*"; }

# check WHAT COMMAND…: what it prints is shown when it fails.
check() {
    local what=$1 output
    shift
    if output=$("$@" 2>&1); then
        passed=$((passed + 1)) && echo "ok      $what"
    else
        failed=$((failed + 1)) && printf 'FAILED  %s\n%s\n' "$what" "$output"
    fi
}

equal() { # wanted, command…
    local wanted=$1 found
    shift
    found=$("$@" 2>&1) || true
    [ "$found" = "$wanted" ] || { printf '    wanted: %s\n    found:  %s\n' "$wanted" "$found" && return 1; }
}

matches() { # extended regular expression, command…
    local wanted=$1 found
    shift
    found=$("$@" 2>&1) || true
    grep -qE -- "$wanted" <<<"$found" || { printf '    wanted: %s\n    found:  %s\n' "$wanted" "$found" && return 1; }
}

# Waits for a command to succeed, for at most so many seconds.
within() { # seconds, command…
    local end=$((SECONDS + $1)) output
    shift
    until output=$("$@" 2>&1); do
        ((SECONDS < end)) || { echo "$output" && return 1; }
        sleep 0.3
    done
}

not() { ! "$@"; }

# The value of a field that a program prints as NAME=value or name: value.
token_of() { grep -o 't2_[A-Za-z0-9_-]*' | head -1; }
hash_of() { grep -o 'sha256:[0-9a-f]*' | head -1; }
fingerprint_of() { grep -o -- '--server-fingerprint sha256:[0-9A-Fa-f:]*' | tail -1 | cut -d' ' -f2; }

# A small Debian, made once for each suite.
debian_tree() {
    [ ! -e "$work/$suite.done" ] || return 0
    say "a Debian, $suite"
    rm -rf "${work:?}/$suite"
    mkdir -p "$work"
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,curl,iproute2,procps,python3,ca-certificates \
        "$suite" "$work/$suite" ${mirror:+"$mirror"} >"$work/debootstrap.log" 2>&1 || { tail "$work/debootstrap.log" && return 1; }
    touch "$work/$suite.done"
}

finish() {
    local code=$?
    trap - EXIT
    ! declare -F stop_debian >/dev/null || stop_debian
    ! declare -F stop_images >/dev/null || stop_images
    printf '\n%s checks passed, %s failed\n' "$passed" "$failed"
    ((code == 0 && failed == 0)) || exit 1
}
trap finish EXIT
trap 'exit 130' INT TERM

if [[ ,$only, == *,debian,* ]]; then . eng/check-packages/debian.sh; fi
if [[ ,$only, == *,images,* ]]; then . eng/check-packages/images.sh; fi
