#!/usr/bin/env bash
# Makes everything that a release has, into artifacts/release (docs/releases.md).
#
#   bash eng/release.sh                        the version is that of the nearest tag v1.2.3, as in eng/pack.sh
#   bash eng/release.sh --version 1.2.3        this version
#   bash eng/release.sh --rids linux-x64       programs for these systems only, with commas (default: linux-x64,linux-arm64,win-x64,osx-arm64)
#   bash eng/release.sh --skip nuget,deb       without these parts: native, nuget, deb, sbom, images
#
# Needs the .NET SDK of global.json and package sources that have the runtime packs; dpkg-deb for the packages of Debian; python3 for the bills
# of materials; gcc and zlib's headers for the native agent; docker for the images. One system takes two and a half minutes of processor time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 MSBUILDDISABLENODEREUSE=1
readonly out=$PWD/artifacts/release work=$PWD/artifacts/release-work
readonly compiler=tunnel2-release-$$
readonly programs=(tunnel2:src/Tunnel2.Client tunnel2-entry:src/Tunnel2.ProxyEntry)
readonly sbom_tool=6.3.1

version='' rids=linux-x64,linux-arm64,win-x64,osx-arm64 skip=,
while (($# > 0)); do
    case $1 in
        --version) version=${2:?--version needs a version} ;;
        --rids) rids=${2:?--rids needs names of systems} ;;
        --skip) skip=,${2:?--skip needs names of parts}, ;;
        *) echo "release.sh: '$1' is not an option here (--version, --rids, --skip)" >&2 && exit 2 ;;
    esac
    shift 2
done
if [ -z "$version" ]; then version=$(bash eng/version.sh); fi
if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
    echo "release.sh: '$version' is not a version such as 1.2.3 or 1.2.3-rc.1" >&2
    exit 2
fi
# What archives say about time is the time of the commit, so that the same sources make the same packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# The tests' build runs the analyzers. What the trimmer finds is an error here too.
export RunAnalyzers=false

wanted() { [[ $skip != *,$1,* ]]; }

say() { printf '\n== %s\n' "$*"; }

# The compiler's server serves all builds of this run, and ends with it.
stop_compiler() {
    local process
    for process in /proc/[0-9]*; do
        if grep -qsa -- "-pipename:$compiler" "$process/cmdline"; then kill "${process#/proc/}" 2>/dev/null || true; fi
    done
}
trap stop_compiler EXIT

# One file for each program and system. It has the runtime in it.
one_file() { # program, project, system
    local program=$1 project=$2 rid=$3 suffix=
    [[ $rid != win-* ]] || suffix=.exe
    say "$program for $rid"
    dotnet publish "$project" -c Release -r "$rid" -o "$work/$program-$rid" -v:quiet -m:1 -p:OneFile=true -p:Version="$version" \
        -p:UseSharedCompilation=true -p:SharedCompilationId="$compiler"
    cp "$work/$program-$rid/$program$suffix" "$out/${program}_${version}_$rid$suffix"
}

# The agent as native code, for the system that this runs on: linking for others needs their libraries.
native() { # system
    local rid=$1
    say "tunnel2 for $rid, native"
    dotnet publish src/Tunnel2.Client -c Release -r "$rid" -o "$work/native-$rid" -v:quiet -m:1 -p:Native=true -p:CppCompilerAndLinker=gcc \
        -p:Version="$version" -p:UseSharedCompilation=true -p:SharedCompilationId="$compiler"
    cp "$work/native-$rid/tunnel2" "$out/tunnel2_${version}_$rid-native"
}

# Debian's packages, from deploy/debian and the units of deploy/systemd.
debian() { # system, architecture in Debian's words
    local rid=$1 architecture=$2 program
    for program in tunnel2 tunnel2-entry; do
        bash deploy/debian/build.sh "$program" "$version" "$architecture" "$out/${program}_${version}_$rid" "$work/deb" "$out"
    done
}

# Container images for the processor of this machine, in its own store of images.
images() { # system
    local rid=$1 pair program
    for pair in "${programs[@]}"; do
        program=${pair%%:*}
        say "image $program:$version"
        bash deploy/docker/release.sh "$program" "$version" "$out/${program}_${version}_$rid" "$work"
    done
}

# What each program is made of, as CycloneDX: the packages by its tool, the runtime's packs and dates that do not change by sbom.py.
bills_of_materials() {
    local tool=$work/cyclonedx pair program project
    say "bills of materials"
    dotnet tool install CycloneDX --version "$sbom_tool" --tool-path "$tool" >"$work/cyclonedx.log" 2>&1 || { cat "$work/cyclonedx.log"; return 1; }
    for pair in "${programs[@]}"; do
        program=${pair%%:*} project=${pair#*:}
        "$tool/dotnet-CycloneDX" "$project/$(basename "$project").csproj" --output "$work/sbom" --filename "$program.json" --output-format Json \
            --disable-package-restore --recursive --set-name "$program" --set-version "$version" --spec-version 1.6 >"$work/cyclonedx.log" 2>&1 ||
            { tail "$work/cyclonedx.log"; return 1; }
        python3 eng/release/sbom.py "$work/sbom/$program.json" "$out/${program}_$version.cdx.json" \
            --time "$SOURCE_DATE_EPOCH" --assets "$project/obj/project.assets.json" --rids "$rids"
    done
}

# The one of the systems that this machine is, if it is one of them.
case $(uname -sm) in
    'Linux x86_64') readonly system=linux-x64 ;;
    'Linux aarch64') readonly system=linux-arm64 ;;
    *) readonly system='' ;;
esac
rm -rf "$out" "$work"
mkdir -p "$out" "$work"
say "version $version"
for rid in ${rids//,/ }; do
    for pair in "${programs[@]}"; do one_file "${pair%%:*}" "${pair#*:}" "$rid"; done
done
if wanted native; then
    if ! command -v gcc >/dev/null; then
        say "no native agent: there is no gcc here"
    elif [[ ,$rids, == *,${system:-none},* ]]; then
        native "$system"
    fi
fi
if wanted sbom; then bills_of_materials; fi
if wanted deb; then
    say "packages of Debian"
    if command -v dpkg-deb >/dev/null; then
        [[ ,$rids, != *,linux-x64,* ]] || debian linux-x64 amd64
        [[ ,$rids, != *,linux-arm64,* ]] || debian linux-arm64 arm64
    else
        echo "none: there is no dpkg-deb here"
    fi
fi
if wanted images; then
    if ! docker info >"$work/docker.log" 2>&1; then
        say "no container images: no docker runs here"
    elif [[ ,$rids, == *,${system:-none},* ]]; then
        images "$system"
    fi
fi
if wanted nuget; then
    stop_compiler
    bash eng/pack.sh "$version"
    cp artifacts/packages/*.nupkg artifacts/packages/*.snupkg "$out"
fi
say "checksums"
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
rm -rf "$work"
(cd "$out" && ls -l)
