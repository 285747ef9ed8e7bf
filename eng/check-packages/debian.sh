# The packages of Debian, in a Debian that systemd has booted. Sourced by eng/check-packages.sh; the steps are those of
# docs/tutorials/systemd.md.
readonly root=$work/root
nspawn='' init=''

stop_debian() {
    [ -n "$nspawn" ] || return 0
    [ -z "$init" ] || inside systemctl poweroff >/dev/null 2>&1 || true
    for _ in $(seq 40); do kill -0 "$nspawn" 2>/dev/null || break; sleep 0.3; done
    kill -KILL "$nspawn" 2>/dev/null || true
    wait "$nspawn" 2>/dev/null || true
    nspawn=
    rm -rf "$root"
}

inside() {
    nsenter --target "$init" --all -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

is_up() {
    init=$(pgrep --parent "$nspawn" --exact systemd) && [ "$(inside systemctl is-system-running 2>/dev/null)" = running ]
}

boot() {
    systemd-nspawn --quiet --directory "$root" --machine "tunnel2-check-$$" --register=no --keep-unit --private-network --boot \
        --console=pipe </dev/null >"$work/boot.log" 2>&1 &
    nspawn=$!
    for _ in $(seq 200); do
        if is_up; then return; fi
        sleep 0.3
    done
    echo "the Debian did not start:" && tail "$work/boot.log" && exit 1
}

install_packages() { # file…
    inside apt-get install -y --no-install-recommends "$@" >"$work/apt.log" 2>&1 || { cat "$work/apt.log" && return 1; }
}

state_of() { inside systemctl is-active "$1"; }
enabled() { inside systemctl is-enabled "$1"; }
process_of() { inside systemctl show --property MainPID --value "$1"; }
mode_of() { inside stat --format '%U:%G %a' "$1"; }
request() { inside curl -s -m 10 -H 'Host: web.example.com' "$@" http://127.0.0.1/; }
answers() { [ "$(request)" = "hello from the service" ]; }
served() { [ -s "$work/visitors" ] && ! grep -vx 200 "$work/visitors"; }
leftovers() { inside sh -c "find $* 2>/dev/null; true"; }
setting() { printf '%s\n' "$1" | inside tee -a /etc/tunnel2/entry.env >/dev/null; }
journal_fingerprint() { inside journalctl -u tunnel2-entry --no-pager -o cat | fingerprint_of; }
exposure() { # unit, most
    local found
    found=$(inside systemd-analyze security --no-pager "$1" | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\) .*/\1/p')
    printf '        exposure of %s: %s\n' "$1" "$found" >&3
    awk -v found="$found" -v most="$2" 'BEGIN { exit !(found != "" && found <= most) }'
}

exec 3>&1
debian_tree
rm -rf "$root" && cp -a "$work/$suite" "$root"
# The same once more, as the packages of a later version.
base=${version%%-*}
readonly next=${base%.*}.$((${base##*.} + 1))
for name in tunnel2 tunnel2-entry; do
    cp "$release/${name}_${version}_$architecture.deb" "$root/root/"
    rm -rf "$work/next"
    dpkg-deb -R "$release/${name}_${version}_$architecture.deb" "$work/next"
    sed -i "s/^Version:.*/Version: $next/" "$work/next/DEBIAN/control"
    dpkg-deb -Znone --build "$work/next" "$root/root/${name}_${next}_$architecture.deb" >/dev/null
done
rm -rf "$work/next"
# What they depend on is fetched while there is a network; in the Debian that runs there is none.
chroot "$root" sh -c "apt-get -qq update && apt-get -qq -y --download-only --no-install-recommends install \
    /root/tunnel2_${version}_$architecture.deb /root/tunnel2-entry_${version}_$architecture.deb" >"$work/download.log" 2>&1 ||
    { cat "$work/download.log" && exit 1; }
boot
inside ip link set lo up

say "$suite: the server's package"
check "apt installs it" install_packages "/root/tunnel2-entry_${version}_$architecture.deb"
check "its unit is started" equal active state_of tunnel2-entry
check "its unit is enabled" equal enabled enabled tunnel2-entry
check "tunnel2-entry health" inside tunnel2-entry health
check "it runs as its own user" matches '^tunnel2-entry$' inside stat --format %U "/proc/$(process_of tunnel2-entry)"
check "it listens on loopback only" not matches '(\*|0\.0\.0\.0|\[::\]):12' inside ss -Hltn
check "appsettings.json is for it alone" equal "root:tunnel2-entry 640" mode_of /etc/tunnel2/appsettings.json
check "entry.env is for root alone" equal "root:root 600" mode_of /etc/tunnel2/entry.env
check "the state folder is for it alone" equal "tunnel2-entry:tunnel2-entry 700" mode_of /var/lib/tunnel2
check "its units have no mistakes" equal "" inside systemd-analyze verify tunnel2-entry.service tunnel2-entry-public.socket \
    tunnel2-entry-https.socket tunnel2-entry-uplink.socket
check "systemd calls it well protected" exposure tunnel2-entry.service 1.7

say "$suite: settings of the tutorial"
inside tunnel2-entry token create --name web >"$work/token"
token=$(token_of <"$work/token")
setting "Tunnel2__Domain=example.com"
setting "Tunnel2__Public__HttpListen=*:80"
setting "Tunnel2__Uplink__Listen=*:12001"
setting "Tunnel2__Agents__web__TokenHash=$(hash_of <"$work/token")"
setting "Tunnel2__Agents__web__Names=web"
check "it starts again with them" inside systemctl restart tunnel2-entry
fingerprint=$(journal_fingerprint)
check "the journal has the fingerprint" matches '^sha256:' echo "$fingerprint"

say "$suite: the agent's package"
check "apt installs it" install_packages "/root/tunnel2_${version}_$architecture.deb"
check "tunnel2 --version" equal "tunnel2 $version" inside tunnel2 --version
check "no tunnel runs by itself" equal inactive state_of tunnel2@tunnels
inside mkdir -p /srv/site
echo "hello from the service" | inside tee /srv/site/index.html >/dev/null
inside systemd-run --quiet --unit=service python3 -m http.server 3000 --bind 127.0.0.1 --directory /srv/site
inside sed -i -e "s|^# server:.*|server: 127.0.0.1|" -e "s|^# server-fingerprint:.*|server-fingerprint: $fingerprint|" \
    /etc/tunnel2/tunnels.yml
check "tunnels.yml is for it and root" equal "root:tunnel2 640" mode_of /etc/tunnel2/tunnels.yml
check "tunnel2 config check" inside tunnel2 config check /etc/tunnel2/tunnels.yml
echo "TUNNEL2_TOKEN=$token" | inside sh -c 'umask 077; tee /etc/tunnel2/tunnels.env' >/dev/null
check "its unit starts" inside systemctl enable --now tunnel2@tunnels
check "a request through the tunnel" within 20 answers
check "it runs as its own user" matches '^tunnel2$' inside stat --format %U "/proc/$(process_of tunnel2@tunnels)"
check "its unit has no mistakes" equal "" inside systemd-analyze verify tunnel2@tunnels.service
check "systemd calls it well protected" exposure tunnel2@tunnels.service 1.5

say "$suite: sockets that systemd holds"
inside systemctl stop tunnel2-entry
check "they listen" inside systemctl enable --now tunnel2-entry-public.socket tunnel2-entry-uplink.socket
check "the server takes them" inside systemctl start tunnel2-entry
check "a request through the tunnel" within 20 answers
inside systemctl restart --no-block tunnel2-entry
check "a visitor during a restart waits and is served" answers

say "$suite: a later version over it"
before="$(process_of tunnel2-entry) $(process_of tunnel2@tunnels)"
# A visitor after another in that time; each has a connection of its own.
inside sh -c 'until [ -e /root/done ]; do
    curl -s -m 20 -o /dev/null -w "%{http_code}\n" -H "Host: web.example.com" http://127.0.0.1/ || echo "curl ended with $?"
    sleep 0.1
done' >"$work/visitors" 2>&1 &
visitors=$!
check "apt installs it and asks nothing" install_packages \
    "/root/tunnel2-entry_${next}_$architecture.deb" "/root/tunnel2_${next}_$architecture.deb"
check "the server is active" equal active state_of tunnel2-entry
check "the agent is active" within 10 equal active state_of tunnel2@tunnels
check "a request through the tunnel" within 20 answers
inside touch /root/done
wait "$visitors"
check "all of $(wc -l <"$work/visitors") visitors in that time were served" served
check "both are other processes" not equal "$before" echo "$(process_of tunnel2-entry) $(process_of tunnel2@tunnels)"
check "settings are kept" inside grep -q '^Tunnel2__Domain=example.com' /etc/tunnel2/entry.env
check "the certificate of the uplink is kept" equal "$fingerprint" journal_fingerprint
check "modes are kept" equal "root:tunnel2 640" mode_of /etc/tunnel2/tunnels.yml

say "$suite: stop, disable, remove"
check "the agent ends cleanly" inside systemctl stop tunnel2@tunnels
check "so systemd says" equal "success" inside systemctl show --property Result --value tunnel2@tunnels
check "the server ends cleanly" inside systemctl stop tunnel2-entry.service tunnel2-entry-public.socket tunnel2-entry-uplink.socket
check "so systemd says" equal "success" inside systemctl show --property Result --value tunnel2-entry
inside systemctl --quiet disable tunnel2-entry
check "what is disabled stays so" install_packages --reinstall --allow-downgrades "/root/tunnel2-entry_${version}_$architecture.deb"
check "it is disabled" equal disabled enabled tunnel2-entry
check "it does not run" equal inactive state_of tunnel2-entry
inside systemctl --quiet enable --now tunnel2-entry tunnel2@tunnels
check "apt removes both" inside apt-get remove -y tunnel2 tunnel2-entry
check "nothing of them runs" not inside pgrep tunnel2
check "settings stay" inside test -e /etc/tunnel2/entry.env
check "the state stays" inside test -d /var/lib/tunnel2/.
check "apt installs them again" install_packages "/root/tunnel2-entry_${next}_$architecture.deb" "/root/tunnel2_${next}_$architecture.deb"
check "the server runs again" equal active state_of tunnel2-entry

say "$suite: purge"
check "apt purges both" inside apt-get purge -y tunnel2 tunnel2-entry
check "nothing of them runs" not inside pgrep tunnel2
check "settings and state are gone" equal "/etc/tunnel2/tunnels.env" leftovers /etc/tunnel2 /var/lib/tunnel2 ! -type d
check "no unit and no link to one is left" equal "" leftovers /etc/systemd /usr/lib/systemd -name "'tunnel2*'"
check "nor what systemd remembers of them" equal "" leftovers /var/lib/systemd /run/tunnel2 /usr/bin -name "'tunnel2*'"
check "the users stay" inside id tunnel2-entry tunnel2
check "the system has no failed unit" equal running inside systemctl is-system-running
stop_debian
