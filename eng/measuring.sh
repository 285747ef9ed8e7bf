# What the scripts that measure have in common; they source it. It goes to the repository's root, makes a folder for their files ($work), and when
# they end, it ends the processes that they put into $pids.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
chmod a+rx "$work"
pids=()
cleanup() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
ulimit -n "$(ulimit -H -n)"

start_nginx() { # name, what its http block is to have, its workers (1): $started
    cat >"$work/$1.conf" <<N
worker_processes ${3:-1}; worker_rlimit_nofile 65535; error_log $work/$1.err crit; pid $work/$1.pid;
events { worker_connections 20000; }
http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 100000000; keepalive_timeout 300; client_max_body_size 0;
 client_body_temp_path $work/$1.b; proxy_temp_path $work/$1.p; proxy_http_version 1.1; proxy_max_temp_file_size 0; proxy_request_buffering off;
 $2 }
N
    nginx -c "$work/$1.conf" -p "$work" -g "daemon off; user root;" 2>>"$work/$1.err" &
    started=$!
    pids+=("$started")
}

hop() { # port, port of what is behind: what makes an nginx a plain reverse proxy
    echo "upstream u { server 127.0.0.1:$2; keepalive 1200; keepalive_requests 100000000; } server { listen 127.0.0.1:$1 backlog=8192; location / { proxy_pass http://u; proxy_set_header Connection \"\"; } }"
}

start_entry() { # name, port for visitors (the next is for agents, then administration), more settings: $started
    local name=$1 port=$2
    shift 2
    dotnet src/Tunnel2.ProxyEntry/bin/Release/net10.0/tunnel2-entry.dll "--Tunnel2:Public:HttpListen=127.0.0.1:$port" \
        "--Tunnel2:Uplink:Listen=127.0.0.1:$((port + 1))" "--Tunnel2:Admin:Listen=127.0.0.1:$((port + 2))" "--Tunnel2:StateFolder=$work/$name.state" \
        ${TUNNEL2_ENGINE:+--Tunnel2:Engine=$TUNNEL2_ENGINE} "$@" >"$work/$name.log" &
    started=$!
    pids+=("$started")
}

start_agent() { # name, port of ProxyEntry for visitors, port of the service, more flags: $started
    local name=$1 port=$2 service=$3
    shift 3
    dotnet src/Tunnel2.Client/bin/Release/net10.0/tunnel2.dll http "$service" --name "$name" --server "127.0.0.1:$((port + 1))" "$@" >"$work/$name-$port.log" &
    started=$!
    pids+=("$started")
}

ready() { # port, path, host: waits until it answers
    for _ in $(seq 150); do curl -sf -o /dev/null -H "Host: ${3:-web.localhost}" "http://127.0.0.1:$1$2" && return; sleep 0.2; done
    echo "port $1 does not answer (${3:-web.localhost}$2)" >&2
    cat "$work"/*.err >&2 2>/dev/null || true
    exit 1
}

stop() { # pids: ends them, waits for them, and leaves nothing for cleanup to meet again
    local pid left=()
    kill "$@" 2>/dev/null || true
    wait "$@" 2>/dev/null || true
    for pid in "${pids[@]}"; do [[ " $* " == *" $pid "* ]] || left+=("$pid"); done
    pids=("${left[@]}")
}

family() { # pids and their children
    local pid
    for pid in "$@"; do echo "$pid" $(pgrep -P "$pid" || true); done
}

cpu_ticks() { # pids: what they and their children have used
    local total=0 pid stat
    for pid in $(family "$@"); do
        read -r -a stat <<<"$(sed 's/.*) //' "/proc/$pid/stat")"
        ((${#stat[@]} > 12)) || { echo "process $pid is not there" >&2; return 1; }
        total=$((total + stat[11] + stat[12]))
    done
    echo "$total"
}
