# What the scripts that measure have in common; they source it. It goes to the repository's root, makes a folder for their files ($work), and when
# they end, it ends the processes that they put into $pids. TUNNEL2_ENTRY_FOLDER and TUNNEL2_AGENT_FOLDER measure other builds than those of `dotnet build`,
# for example what `dotnet publish` made.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
entry_folder=${TUNNEL2_ENTRY_FOLDER:-src/Tunnel2.ProxyEntry/bin/Release/net10.0}
agent_folder=${TUNNEL2_AGENT_FOLDER:-src/Tunnel2.Client/bin/Release/net10.0}
work=$(mktemp -d)
chmod a+rx "$work"
pids=()
# What is put before the service's, ProxyEntry's and the agent's command: "taskset -c 0", for example.
service_pinned='' entry_pinned='' agent_pinned=''
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
    $service_pinned nginx -c "$work/$1.conf" -p "$work" -g "daemon off; user root;" 2>>"$work/$1.err" &
    started=$!
    pids+=("$started")
}

hop() { # port, port of what is behind: what makes an nginx a plain reverse proxy
    echo "upstream u { server 127.0.0.1:$2; keepalive 1200; keepalive_requests 100000000; } server { listen 127.0.0.1:$1 backlog=8192; location / { proxy_pass http://u; proxy_set_header Connection \"\"; } }"
}

start_entry() { # name, port for visitors (the next is for agents, then administration), more settings: $started
    local name=$1 port=$2
    shift 2
    $entry_pinned dotnet "$entry_folder/tunnel2-entry.dll" "--Tunnel2:Public:HttpListen=127.0.0.1:$port" \
        "--Tunnel2:Uplink:Listen=127.0.0.1:$((port + 1))" "--Tunnel2:Admin:Listen=127.0.0.1:$((port + 2))" "--Tunnel2:StateFolder=$work/$name.state" \
        ${TUNNEL2_ENGINE:+--Tunnel2:Engine=$TUNNEL2_ENGINE} "$@" >"$work/$name.log" &
    started=$!
    pids+=("$started")
}

start_agent() { # name, port of ProxyEntry for visitors, port of the service, more flags: $started
    local name=$1 port=$2 service=$3
    shift 3
    $agent_pinned dotnet "$agent_folder/tunnel2.dll" http "$service" --name "$name" --server "127.0.0.1:$((port + 1))" "$@" >"$work/$name-$port.log" &
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

resident() { # pids: MB of memory, with their children
    local pid
    for pid in $(family "$@"); do grep VmRSS "/proc/$pid/status"; done | awk '{ kb += $2 } END { printf "%d", kb / 1024 }'
}

cpu_us() { # ticks before, ticks after, requests: processor time of one request
    awk -v t=$(($2 - $1)) -v n="$3" -v h="$(getconf CLK_TCK)" 'BEGIN { if (n > 0) printf "%.1f", t * 1000000 / h / n; else printf "-" }'
}

wrk_p99() { # wrk's output on standard input: ms
    awk '$1 == "99%" { u = $2; v = u + 0; if (u ~ /us$/) v /= 1000; else if (u !~ /ms$/) v *= 1000; printf "%.2f", v }'
}

summarise() { # rows "name/round value…", columns' names, name of the baseline, more as "column:name" whose baseline is another
    awk -v columns="$2" -v base="$3" -v others="${4:-}" '
    function median(count,   a, b, t) {
        for (a = 1; a <= count; a++) for (b = a + 1; b <= count; b++) if (list[b] + 0 < list[a] + 0) { t = list[a]; list[a] = list[b]; list[b] = t }
        return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
    }
    { split($1, who, "/"); if (!(who[1] in seen)) { seen[who[1]] = 1; order[++n] = who[1] }
      for (i = 2; i <= NF; i++) value[who[1], who[2], i] = $i; fields = NF; if (who[2] > rounds) rounds = who[2] }
    END {
        for (i = 2; i <= fields; i++) bases[i] = base
        count = split(others, parts, " ")
        for (k = 1; k <= count; k++) { split(parts[k], part, ":"); if (part[2] in seen) bases[part[1]] = part[2] }
        print "\nmedians"; print "who " columns
        for (k = 1; k <= n; k++) {
            row = order[k]
            for (i = 2; i <= fields; i++) { count = 0; for (r = 1; r <= rounds; r++) if ((order[k], r, i) in value) list[++count] = value[order[k], r, i]; row = row " " median(count) }
            print row
        }
        print "\nmedians of the ratios to " base " in the same round" (others == "" ? "" : " (" others ")")
        for (k = 1; k <= n; k++) {
            row = order[k]
            for (i = 2; i <= fields; i++) {
                count = 0
                for (r = 1; r <= rounds; r++) if (value[bases[i], r, i] > 0 && (order[k], r, i) in value) list[++count] = value[order[k], r, i] / value[bases[i], r, i]
                row = row " " (count ? sprintf("%.2f", median(count)) : "-")
            }
            print row
        }
    }' "$1"
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

nginx_hop2() { # port, port of what is behind: an nginx that speaks gRPC on both sides
    echo "upstream g { server 127.0.0.1:$2; keepalive 1200; keepalive_requests 100000000; } server { listen 127.0.0.1:$1 http2 backlog=8192; client_body_timeout 300s; location / { grpc_pass grpc://g; grpc_read_timeout 300s; grpc_send_timeout 300s; } }"
}

h2load_row() { # seconds, port, path, host, more of h2load's arguments: requests/s, p50 and p99 in ms, requests; fails unless all succeeded
    local seconds=$1 port=$2 path=$3 host=$4 out
    shift 4
    rm -f "$work/h2load.log"
    out=$(h2load -t1 -D "$seconds" --warm-up-time=1 --connect-to="127.0.0.1:$port" --log-file="$work/h2load.log" "$@" "http://$host:$port$path")
    if ! grep -q ' 0 failed, 0 errored, 0 timeout' <<<"$out"; then echo "$out" >&2; return 1; fi
    awk '{ print $3, $2 }' "$work/h2load.log" | sort -n >"$work/h2load.sorted"
    awk -v seconds="$seconds" -v rate="$(awk '/^finished in/ { print $4 }' <<<"$out")" '
        # What the end of the time cut has no status.
        $2 > 0 { if ($2 < 200 || $2 > 299) bad++; time[++n] = $1 }
        END {
            if (bad || !n) { print bad + 0 " of " n + 0 " answers are not of class 2xx" >"/dev/stderr"; exit 1 }
            printf "%d %.2f %.2f %d\n", rate, time[int((n + 1) / 2)] / 1000, time[int((n * 99 + 99) / 100)] / 1000, rate * seconds
        }' "$work/h2load.sorted"
}
