# The container images, with a read-only root file system and without any capability. Sourced by eng/check-packages.sh.
readonly mark=tunnel2-check-$$ port=12080 most_bytes=120000000
readonly base_image=mcr.microsoft.com/dotnet/runtime-deps:10.0-noble-chiseled
service=''

stop_images() {
    [ -z "$service" ] || kill "$service" 2>/dev/null || true
    docker rm --force "$mark-entry" "$mark-agent" >/dev/null 2>&1 || true
    docker volume rm "$mark" >/dev/null 2>&1 || true
    docker network rm "$mark" >/dev/null 2>&1 || true
}

# What .NET's image is made of, from Debian's packages: no shell, no program at all, the user `app`, and the root of certificates.
stand_in_base() {
    local tree=$work/base folder=$work/base-debs
    docker image inspect "$base_image" >/dev/null 2>&1 && return
    debian_tree
    rm -rf "$tree" "$folder" && mkdir -p "$tree" "$folder"
    chroot "$work/$suite" sh -c 'apt-get -qq update && mkdir -p /var/tmp/debs && cd /var/tmp/debs && rm -f *.deb &&
        ssl=$(apt-cache pkgnames libssl3 | sort | tail -1) &&
        apt-get -qq download base-files ca-certificates libc6 libgcc-s1 "$ssl" libstdc++6 zlib1g tzdata 2>/dev/null' >/dev/null
    mv "$work/$suite"/var/tmp/debs/*.deb "$folder"
    for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$tree"; done
    # The libraries alone: Debian's packages have programs and documents beside them.
    rm -rf "$tree"/{bin,sbin,usr/bin,usr/sbin,usr/share/doc,usr/share/man,usr/share/zoneinfo/right,usr/share/zoneinfo/posix,usr/lib/*/gconv}
    cp "$work/$suite/etc/ssl/certs/ca-certificates.crt" "$tree/etc/ssl/certs/"
    mkdir -p "$tree/home/app" "$tree/tmp" && chmod 1777 "$tree/tmp" && chown 1654:1654 "$tree/home/app"
    echo 'app:x:1654:1654::/home/app:/bin/false' >"$tree/etc/passwd"
    echo 'app:x:1654:' >"$tree/etc/group"
    tar -C "$tree" -c . | docker import -c 'ENV APP_UID=1654' - "$base_image" >/dev/null
    rm -rf "$tree" "$folder"
    echo "a base of Debian's files replaces $base_image: $(docker image inspect --format '{{.Size}}' "$base_image") bytes"
}


health() { docker inspect --format '{{.State.Health.Status}}' "$1"; }
user_of() { stat --format %u "/proc/$(docker inspect --format '{{.State.Pid}}' "$1")"; }
logs() { docker logs "$1" 2>&1; }
warnings() { logs "$1" | grep -E ' (warn|fail|crit): '; }
page() { curl -s -m 10 -H 'Host: web.localhost' "http://127.0.0.1:$port/"; }
small() {
    local size
    size=$(docker image inspect --format '{{.Size}}' "$1") && echo "        $1: $size bytes" >&3 && ((size < most_bytes))
}
ends_cleanly() { # container: the signal, and the exit code
    docker stop --time 40 "$1" >/dev/null && equal 0 docker inspect --format '{{.State.ExitCode}}' "$1"
}

exec 3>&1
say "container images"
docker info >"$work/docker.log" 2>&1 || { echo "no docker runs here:" && tail -3 "$work/docker.log" && exit 1; }
if [ "$stand_in" = yes ]; then stand_in_base; fi
for name in tunnel2 tunnel2-entry; do
    check "$name is built" bash deploy/docker/release.sh "$name" "$version" "$release/${name}_${version}_$rid" "$work"
    check "$name has less than 120 MB" small "$name:$version"
    check "$name has an ordinary user" equal 1654 docker image inspect --format '{{.Config.User}}' "$name:$version"
    check "$name --version" equal "$name $version" docker run --rm --read-only --cap-drop ALL --network none "$name:$version" --version
done

docker network create "$mark" >/dev/null
docker volume create "$mark" >/dev/null
docker run --rm --read-only --network none "tunnel2-entry:$version" token create --name web >"$work/token"
check "the server starts" docker run --detach --name "$mark-entry" --read-only --cap-drop ALL --security-opt no-new-privileges \
    --network "$mark" --network-alias entry --publish "127.0.0.1:$port:12000" --volume "$mark:/var/lib/tunnel2" \
    --env Tunnel2__Public__HttpListen='*:12000' --env Tunnel2__Uplink__Listen='*:12001' \
    --env "Tunnel2__Agents__web__TokenHash=$(hash_of <"$work/token")" --env Tunnel2__Agents__web__Names=web "tunnel2-entry:$version"
check "its health check says healthy" within 40 equal healthy health "$mark-entry"
check "it runs as an ordinary user" equal 1654 user_of "$mark-entry"
fingerprint=$(logs "$mark-entry" | fingerprint_of)
check "the agent starts" docker run --detach --name "$mark-agent" --read-only --cap-drop ALL --security-opt no-new-privileges \
    --network "$mark" --env "TUNNEL2_TOKEN=$(token_of <"$work/token")" --env "TUNNEL2_SERVER_FINGERPRINT=$fingerprint" \
    "tunnel2:$version" http 3000 --server entry:12001 --name web
# A service on the loopback of the agent's container, which has no program but the agent.
mkdir -p "$work/site" && echo "hello from the service" >"$work/site/index.html"
nsenter --target "$(docker inspect --format '{{.State.Pid}}' "$mark-agent")" --net \
    python3 -m http.server 3000 --bind 127.0.0.1 --directory "$work/site" >"$work/service.log" 2>&1 &
service=$!
check "its health check says healthy" within 60 equal healthy health "$mark-agent"
check "a request through the tunnel" equal "hello from the service" page
check "it runs as an ordinary user" equal 1654 user_of "$mark-agent"
check "tunnel2-entry health in the container" docker exec "$mark-entry" /usr/bin/tunnel2-entry health
check "tunnel2 ready in the container" docker exec "$mark-agent" /usr/bin/tunnel2 ready
check "the server logs no warning" equal "" warnings "$mark-entry"
check "the agent says its URL" matches "Forwarding http" logs "$mark-agent"
check "the agent ends cleanly" ends_cleanly "$mark-agent"
check "the server ends cleanly" ends_cleanly "$mark-entry"
check "the server starts again with the state of its volume" docker start "$mark-entry"
check "its health check says healthy" within 40 equal healthy health "$mark-entry"
check "its certificate is the same" equal "$fingerprint" bash -c "docker logs $mark-entry 2>&1 | grep -o 'sha256:[0-9A-Fa-f:]*' | tail -1"
docker stop --time 40 "$mark-entry" >/dev/null
stop_images
service=
