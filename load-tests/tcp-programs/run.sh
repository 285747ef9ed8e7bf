#!/usr/bin/env bash
# Programs that people use, through tunnels of TCP and UDP: each service is started here on loopback, its client calls the public port, and what comes back
# is checked. A line for each: ok, FAILED, or skipped where a program is not installed. Fails if one failed. Nothing leaves the machine; takes about two
# minutes. Needs a release build of Tunnel2.sln, root for PostgreSQL and sshd, python3, and of Debian's packages those whose programs are to be tried:
#
#   apt-get install openssh-server openssh-client postgresql redis-server iperf3 dnsmasq-base bind9-dnsutils ngtcp2-client ngtcp2-server
#
#   load-tests/tcp-programs/run.sh [connections redis ssh psql iperf3 dns quic ...]     default: all
#
# Ports 12300-12302, 18300-18306, 18309 and 20300-20306 must be free.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../eng/measuring.sh"
here=load-tests/tcp-programs
all=(connections redis ssh psql iperf3 dns quic)
(($# > 0)) && chosen=("$@") || chosen=("${all[@]}")
failed=0
most=10000

has() { # programs: whether they are all installed
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; return 1; }
    done
}

attempt() { # name, command…: its line, and its output where it fails
    local name=$1 began=$SECONDS
    shift
    if timeout 120 "$@" >"$work/out" 2>&1 </dev/null; then
        echo "ok $name, $((SECONDS - began)) s${shown:+: $(eval "$shown" <"$work/out")}"
    else
        echo "FAILED $name"
        tail -n 20 "$work/out"
        failed=1
    fi
}

begin() { # what is to run until the end, with its output in a file
    "$@" >"$work/service-${#pids[@]}.log" 2>&1 </dev/null &
    pids+=("$!")
}

until_open() { # port: waits until something listens
    local _
    for _ in $(seq 100); do (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return; sleep 0.1; done
    echo "nothing listens at port $1" >&2
    return 1
}

cat >"$work/tunnels.yml" <<Y
server: 127.0.0.1:12301
backend-connections: 30000
tunnels:
  - { name: echo, protocol: tcp, upstream: 18300, remote-port: 20300 }
  - { name: redis, protocol: tcp, upstream: 18301, remote-port: 20301 }
  - { name: ssh, protocol: tcp, upstream: 18302, remote-port: 20302 }
  - { name: db, protocol: tcp, upstream: 18303, remote-port: 20303 }
  - { name: iperf, protocol: tcp, upstream: 18304, remote-port: 20304 }
  - { name: iperf-u, protocol: udp, upstream: 18304, remote-port: 20304 }
  - { name: dns, protocol: udp, upstream: 18305, remote-port: 20305 }
  - { name: dns-t, protocol: tcp, upstream: 18305, remote-port: 20305 }
  - { name: quic, protocol: udp, upstream: 18306, remote-port: 20306 }
Y
start_entry entry 12300 --Tunnel2:Tcp:Ports=20300-20310 --Tunnel2:Tcp:PortsPerAgent=11 --Tunnel2:Udp:Ports=20300-20310 --Tunnel2:Udp:PortsPerAgent=11 \
    --Tunnel2:Limits:Connections=30000 --Tunnel2:Limits:ConnectionsPerAddress=30000
curl -sf -o /dev/null --retry 100 --retry-delay 1 --retry-connrefused http://127.0.0.1:12302/health/live
begin dotnet "$agent_folder/tunnel2.dll" start --config "$work/tunnels.yml"
agent_log=$work/service-$((${#pids[@]} - 1)).log
for _ in $(seq 150); do [[ $(grep -c '^Forwarding ' "$agent_log") == 9 ]] && break; sleep 0.2; done
[[ $(grep -c '^Forwarding ' "$agent_log") == 9 ]] || { cat "$agent_log" "$work/entry.log" >&2; exit 1; }

try_connections() {
    begin python3 $here/connections.py serve 18300
    until_open 18300
    shown='tail -n 1' attempt "$most connections at once" python3 $here/connections.py visit 20300 "$most"
}

try_redis() {
    has redis-server redis-benchmark redis-cli || return 0
    begin redis-server --port 18301 --bind 127.0.0.1 --save '' --dir "$work"
    until_open 18301
    shown="tr '\r' '\n' | grep 'requests per second' | cut -d, -f1 | paste -sd ' '" \
        attempt "redis-benchmark" redis-benchmark -p 20301 -n 100000 -c 50 -q -t set,get
    shown="tr '\r' '\n' | grep 'requests per second' | cut -d, -f1 | paste -sd ' '" \
        attempt "redis-benchmark, 16 commands at once" redis-benchmark -p 20301 -n 500000 -c 50 -P 16 -q -t set,get
    attempt "redis-cli, a value of 20 MB" bash -c '
        head -c 20000000 /dev/zero | redis-cli -p 20301 -x set large && [[ $(redis-cli -p 20301 strlen large) == 20000000 ]] &&
        [[ $(redis-cli -p 20301 get large | wc -c) == 20000001 ]]'
}

try_ssh() {
    has ssh ssh-keygen scp || return 0
    [[ -x /usr/sbin/sshd ]] || { echo "skipped: sshd is not installed"; return 0; }
    mkdir -p /run/sshd "$work/ssh"
    ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/host"
    ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/user"
    cat >"$work/ssh/config" <<C
Port 18302
ListenAddress 127.0.0.1
HostKey $work/ssh/host
AuthorizedKeysFile $work/ssh/user.pub
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
C
    begin /usr/sbin/sshd -D -e -f "$work/ssh/config"
    until_open 18302
    local options=(-i "$work/ssh/user" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o IdentitiesOnly=yes)
    attempt "ssh, its output and exit code" bash -c \
        'out=$(ssh "$@" -p 20302 127.0.0.1 "echo through; exit 3") || code=$?; [[ $out == through && $code == 3 ]]' bash "${options[@]}"
    head -c 67108864 /dev/urandom >"$work/ssh/there"
    attempt "scp, 64 MiB there and back" bash -c \
        'scp "${@:3}" -P 20302 "$1" "127.0.0.1:$1.at" && scp "${@:3}" -P 20302 "127.0.0.1:$1.at" "$2" && cmp "$1" "$2"' \
        bash "$work/ssh/there" "$work/ssh/back" "${options[@]}"
    attempt "ssh, a port forwarded inside it" bash -c '
        ssh "$@" -p 20302 -N -L 18309:127.0.0.1:12302 127.0.0.1 & trap "kill $!" EXIT
        for _ in $(seq 50); do curl -sf -o /dev/null http://127.0.0.1:18309/health/live && exit 0; sleep 0.2; done; exit 1' bash "${options[@]}"
}

try_psql() {
    local programs
    programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
    [[ -x $programs/postgres ]] || { echo "skipped: postgres is not installed"; return 0; }
    has psql runuser || return 0
    mkdir "$work/pg"
    chown postgres "$work/pg"
    runuser -u postgres -- "$programs/initdb" -D "$work/pg/data" --auth=trust -U postgres >"$work/initdb.log"
    begin runuser -u postgres -- "$programs/postgres" -D "$work/pg/data" -p 18303 -h 127.0.0.1 -k "$work/pg"
    until_open 18303
    export PGHOST=127.0.0.1 PGPORT=20303 PGUSER=postgres PGCONNECT_TIMEOUT=20
    for _ in $(seq 50); do psql -qAtc 'select 1' >/dev/null 2>&1 && break; sleep 0.2; done
    attempt "psql, 200,000 rows there and back" bash -c '
        psql -q -v ON_ERROR_STOP=1 -c "create table rows (n int, words text)" &&
        seq 200000 | sed "s/.*/&\trow &/" | psql -q -c "copy rows from stdin" &&
        [[ $(psql -qAtc "copy (select n, words from rows order by n) to stdout" | sha256sum) == $(seq 200000 | sed "s/.*/&\trow &/" | sha256sum) ]]'
    # Cancelling opens a second connection.
    attempt "psql, a query that is cancelled" bash -c '
        timeout -s INT 2 psql -c "select pg_sleep(60)" >"$1" 2>&1; grep -q "canceling statement due to user request" "$1"' bash "$work/cancelled"
    if [[ -x $programs/pgbench ]]; then
        attempt "pgbench, its tables" "$programs/pgbench" -q -i -s 1 postgres
        shown="grep '^tps'" attempt "pgbench, 20 clients" "$programs/pgbench" -c 20 -j 2 -T 5 -S postgres
    fi
}

try_iperf3() {
    has iperf3 || return 0
    begin iperf3 -s -p 18304 -B 127.0.0.1
    until_open 18304
    sleep 1
    local way rate='grep -E "sender|receiver" | awk "{ for (i = 2; i <= NF; i++) if (\$i ~ /bits.sec/) print \$(i - 1), \$i, \$NF }" | paste -sd ";"'
    for way in '' -R --bidir '-P 8'; do
        # shellcheck disable=SC2086
        shown=$rate attempt "iperf3 $way" iperf3 -c 127.0.0.1 -p 20304 -t 3 -f g $way
    done
    shown='grep -E "receiver" | awk "{ print \$7, \$8, \$11, \$12 }"' attempt "iperf3 -u, 50 Mbit/s" iperf3 -c 127.0.0.1 -p 20304 -u -b 50M -l 1400 -t 3
    shown='grep -E "receiver" | awk "{ print \$7, \$8, \$11, \$12 }"' attempt "iperf3 -u -R, 50 Mbit/s" iperf3 -c 127.0.0.1 -p 20304 -u -b 50M -l 1400 -t 3 -R
}

try_dns() {
    has dnsmasq dig || return 0
    begin dnsmasq --keep-in-foreground --conf-file=/dev/null --port=18305 --listen-address=127.0.0.1 --bind-interfaces --no-resolv --no-hosts --user=root \
        --pid-file= --address=/example.test/192.0.2.7 --edns-packet-max=4096 \
        "--txt-record=long.test,$(head -c 250 /dev/zero | tr '\0' a),$(head -c 250 /dev/zero | tr '\0' b),$(head -c 250 /dev/zero | tr '\0' c)"
    until_open 18305
    attempt "dig, over UDP" bash -c '[[ $(dig @127.0.0.1 -p 20305 +short +tries=1 a.example.test) == 192.0.2.7 ]]'
    attempt "dig, a long answer" bash -c '[[ $(dig @127.0.0.1 -p 20305 +short +tries=1 +bufsize=4096 +ignore long.test TXT | wc -c) -gt 750 ]]'
    attempt "dig, a long answer over TCP" bash -c '[[ $(dig @127.0.0.1 -p 20305 +short +tries=1 +tcp long.test TXT | wc -c) -gt 750 ]]'
    for ((i = 0; i < 2000; i++)); do echo "n$i.example.test"; done >"$work/names"
    attempt "dig, 2,000 questions" bash -c '[[ $(dig @127.0.0.1 -p 20305 +short +tries=3 +time=1 -f "$1" | grep -c "^192.0.2.7$") == 2000 ]]' bash "$work/names"
}

try_quic() {
    has gtlsclient || return 0
    [[ -x /usr/sbin/gtlsserver ]] || { echo "skipped: gtlsserver is not installed"; return 0; }
    mkdir -p "$work/quic/files" "$work/quic/got"
    head -c 50000000 /dev/urandom >"$work/quic/files/large"
    dotnet "$entry_folder/tunnel2-entry.dll" certificate create --host localhost --out "$work/quic/server.pem" >"$work/quic/created"
    begin /usr/sbin/gtlsserver -q -d "$work/quic/files" 127.0.0.1 18306 "$work/quic/server.pem" "$work/quic/server.pem"
    attempt "QUIC, 50 MB of HTTP/3" bash -c '
        gtlsclient -q --exit-on-all-streams-close --timeout=30s --download="$1/got" 127.0.0.1 20306 https://localhost/large && cmp "$1/got/large" "$1/files/large"' \
        bash "$work/quic"
    attempt "QUIC, a visitor whose address changes" bash -c '
        gtlsclient -q --exit-on-all-streams-close --timeout=30s --change-local-addr=100ms --download="$1/got" 127.0.0.1 20306 https://localhost/large &&
        cmp "$1/got/large" "$1/files/large"' bash "$work/quic"
}

for one in "${chosen[@]}"; do
    [[ " ${all[*]} " == *" $one "* ]] || { echo "$one is not one of: ${all[*]}" >&2; exit 2; }
    "try_$one"
done

# After all that, nothing may have failed in the programs themselves.
if grep -iE '\bfaults?\b|unhandled|\bcrit' "$work/entry.log" "$agent_log"; then failed=1; fi
exit "$failed"
