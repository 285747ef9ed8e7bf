#!/usr/bin/env bash
# Makes the NuGet packages, and tries them: the samples are built in a folder of their own, from the packages only.
#
#   bash eng/pack.sh            the version is that of the nearest tag v1.2.3: on the tag itself 1.2.3, after it a version before the next one
#   bash eng/pack.sh 1.2.3      this version
#
# The packages are in artifacts/packages: .nupkg, and .snupkg with the symbols.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 MSBUILDDISABLENODEREUSE=1
readonly packages=$PWD/artifacts/packages
readonly roots=(src/Tunnel2.Embed src/Tunnel2.ProxyEntry.Hosting)
version=${1:-}
if [ -z "$version" ]; then version=$(bash eng/version.sh); fi
echo "== version $version"

rm -rf "$packages"
mkdir -p "$packages"
for root in "${roots[@]}"; do
    dotnet build "$root" -c Release -p:Version="$version" -v:quiet
done
for project in $(grep -l '<IsPackable>true</IsPackable>' src/*/*.csproj); do
    dotnet pack "$project" -c Release --no-build -p:Version="$version" -o "$packages" -v:quiet
done

echo "== samples from the packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Beside the sources that this machine has.
cat >"$folder/nuget.config" <<END
<configuration>
  <packageSources>
    <add key="local" value="$packages" />
  </packageSources>
</configuration>
END
# A folder of packages of its own: one of the same version that was tried before must not hide this one.
export NUGET_PACKAGES=$folder/packages
for pair in Embedding:Tunnel2.Embed Agent:Tunnel2.Embed Hosting:Tunnel2.ProxyEntry.Hosting; do
    sample=${pair%%:*} package=${pair#*:}
    mkdir "$folder/$sample"
    cp "samples/$sample/Program.cs" "$folder/$sample/"
    sdk=$(sed -n 's/.*Sdk="\(Microsoft[^"]*\)".*/\1/p' samples/$sample/*.csproj)
    cat >"$folder/$sample/$sample.csproj" <<END
<Project Sdk="$sdk">
  <PropertyGroup>
    <TargetFramework>net10.0</TargetFramework>
    <OutputType>Exe</OutputType>
    <Nullable>enable</Nullable>
    <ImplicitUsings>enable</ImplicitUsings>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="$package" Version="$version" />
  </ItemGroup>
</Project>
END
    dotnet build "$folder/$sample" -v:quiet
    echo "samples/$sample is built from $package $version"
done

# One that starts: a mistake in the options is reported, and the exit code is 2.
code=0
output=$(dotnet "$folder/Embedding/bin/Debug/net10.0/Embedding.dll" --Name -web- 2>&1) || code=$?
if [ "$code" != 2 ] || ! grep -q "^Name: '-web-' is not a name" <<<"$output"; then
    echo "pack.sh: the sample does not run as it should (exit code $code): $output" >&2
    exit 1
fi
echo "== $(find "$packages" -name '*.nupkg' | wc -l) packages are in ${packages#"$PWD/"}"
