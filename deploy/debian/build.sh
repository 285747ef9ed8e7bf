#!/usr/bin/env bash
# Makes a package for Debian and Ubuntu of a program of one file: eng/release.sh calls it.
#   build.sh PROGRAM VERSION ARCHITECTURE FILE WORK OUT
# The units are those of deploy/systemd, with the place of the program and a user that the package makes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$1 version=$2 architecture=$3 file=$4 out=$6
# 1.2.3-rc.1 comes before 1.2.3: in Debian's order only a ~ does.
debian=${version/-/\~}
tree=$5/${program}_$architecture
rm -rf "$tree"
install -d "$tree/DEBIAN" "$tree/usr/lib/systemd/system" "$tree/etc/tunnel2" "$tree/usr/share/doc/$program"
install -D -m 755 "$file" "$tree/usr/bin/$program"

for unit in "$here"/../systemd/"$program"*; do
    case $program:$(basename "$unit") in
        tunnel2:tunnel2-entry*) continue ;;
    esac
    sed -e "s|^ExecStart=/usr/bin/dotnet [^ ]*\.dll|ExecStart=/usr/bin/$program|" -e "s|^DynamicUser=yes|User=$program\nGroup=$program|" \
        -e "s| Install: see docs/deployment.md.||" "$unit" >"$tree/usr/lib/systemd/system/$(basename "$unit")"
done

for config in "$here/$program"/config/*; do
    install -m 644 "$config" "$tree/etc/tunnel2/"
    echo "/etc/tunnel2/$(basename "$config")" >>"$tree/DEBIAN/conffiles"
done
for script in postinst prerm postrm; do
    [ ! -e "$here/$program/$script" ] || install -m 755 "$here/$program/$script" "$tree/DEBIAN/$script"
done

install -m 644 "$here/copyright" "$tree/usr/share/doc/$program/copyright"
install -d "$tree/usr/share/man/man1"
gzip -9 -n -c "$here/$program/$program.1" >"$tree/usr/share/man/man1/$program.1.gz"
printf '%s (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- Tunnel2 contributors <tunnel2@localhost>  %s\n' \
    "$program" "$debian" "$version" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")" | gzip -9 -n >"$tree/usr/share/doc/$program/changelog.gz"
sed -e "s/@VERSION@/$debian/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$(du -k -s --apparent-size "$tree/usr" | cut -f1)/" \
    "$here/$program/control" >"$tree/DEBIAN/control"
chmod -R u+rwX,go+rX,go-w "$tree"
dpkg-deb --root-owner-group -Zxz -z3 --build "$tree" "$out/${program}_${version}_$architecture.deb"
