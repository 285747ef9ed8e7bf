"""What others notice of visitors who take nothing, and of a service that takes nothing. See run.sh."""
import argparse, concurrent.futures, multiprocessing, os, queue, re, resource, select, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
HOST = b"web.localhost"
BIG, MIDDLE, SLOW = 50_000_000, 200_000, 2_000_000
VERBOSE = int(os.environ.get("SLOWEST", "0"))  # how many slow requests to show
KINDS = ("h1-down", "h2-down", "h1-up", "h2-up")
# Of peers, and below of the service: elsewhere it would be another machine's memory, here the kernel's limit for all of TCP (tcp_mem) counts
# it, and beyond that limit the kernel drops what any process sends.
SEND_BUFFER = 128 * 1024
KERNEL_BUFFERS = False  # all buffers grow as the kernel lets them
PIECE = b"z" * 65536
STREAMS = 70  # of one HTTP/2 connection

NGINX = """
worker_processes 1; error_log %(w)s/nginx.log crit; pid %(w)s/nginx.pid;
events { worker_connections 8000; }
http { access_log off; sendfile on; tcp_nodelay on; keepalive_requests 100000000; keepalive_timeout 300; client_max_body_size 0;
 client_body_temp_path %(w)s/b; proxy_temp_path %(w)s/p; proxy_http_version 1.1; send_timeout 3600; client_body_timeout 3600;
 server { listen 127.0.0.1:%(service)d backlog=8192%(sends)s; root %(w)s/www;
   location /noread { auth_request /deaf; proxy_pass http://127.0.0.1:%(answer)d; }
   location = /deaf { internal; proxy_pass http://127.0.0.1:%(deaf)d; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_read_timeout 3600; }
   location /post { proxy_pass http://127.0.0.1:%(answer)d; }
   location / { default_type text/plain; } }
 server { listen 127.0.0.1:%(answer)d; location / { return 200 "ok"; } } }
"""

HOP = """
worker_processes 1; error_log %(w)s/hop%(here)d.log crit; pid %(w)s/hop%(here)d.pid;
events { worker_connections 8000; }
http { access_log off; tcp_nodelay on; keepalive_requests 100000000; client_max_body_size 0; client_body_temp_path %(w)s/b%(here)d;
 proxy_temp_path %(w)s/p%(here)d; proxy_http_version 1.1; proxy_buffering off; proxy_request_buffering off; send_timeout 3600; client_body_timeout 3600;
 upstream next { server 127.0.0.1:%(there)d; keepalive 1200; }
 server { listen 127.0.0.1:%(here)d backlog=8192; location / { proxy_pass http://next; proxy_set_header Host $host; proxy_set_header Connection ""; } } }
"""


def deaf(port):
    """A service that never answers: because it has to be asked for leave first (auth_request), nginx leaves the body alone."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.bind(("127.0.0.1", port))
    listener.listen(4096)
    kept = []
    while True:
        kept.append(listener.accept()[0])


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def fields(*pairs):
    """Each a literal without indexing, not Huffman coded (RFC 7541 section 6.2.2)."""
    return b"".join(b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value for name, value in pairs)


class Http1Peer:
    """Asks once, and takes nothing; or sends for ever."""

    def __init__(self, port, kind, number):
        self.socket = socket.socket()
        if not KERNEL_BUFFERS:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        self.sends = kind == "h1-up"
        self.streams, self.moved = 1, 0
        head = b"POST /noread HTTP/1.1\r\nHost: %s\r\nContent-Length: 50000000\r\n\r\n" if self.sends else b"GET /%s HTTP/1.1\r\nHost: %%s\r\n\r\n" % (b"big" if number % 2 or KERNEL_BUFFERS else b"middle")
        self.socket.send(head % HOST)

    def pump(self):
        """Sends what there is room for. Whether it is still open."""
        try:
            while self.sends:
                self.moved += self.socket.send(PIECE)
        except BlockingIOError:
            pass
        except OSError:
            return False
        return not is_over(self.socket)


class Http2Peer:
    """Many streams of one connection, with no window for any answer; or with bodies that fill what the server allows."""

    def __init__(self, port, kind, streams):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)
        self.sends = kind == "h2-up"
        self.streams, self.moved = streams, 0
        self.inbound = b""
        self.outbound = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"\0\4\0\0\0\0")
        self.initial, self.connection, self.windows, self.begun = 65535, 65535, {}, False
        self.path = lambda i: b"/noread" if self.sends else b"/big" if i % 2 else b"/middle"

    def pump(self):
        try:
            while True:
                piece = self.socket.recv(65536)
                if not piece:
                    return False
                self.inbound += piece
        except BlockingIOError:
            pass
        except OSError:
            return False
        self.take()
        if self.begun and self.sends:
            self.fill()
        try:
            while self.outbound:
                sent = self.socket.send(self.outbound)
                self.moved += sent
                self.outbound = self.outbound[sent:]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    def take(self):
        while len(self.inbound) >= 9 and len(self.inbound) >= 9 + int.from_bytes(self.inbound[:3], "big"):
            length, kind, flags = int.from_bytes(self.inbound[:3], "big"), self.inbound[3], self.inbound[4]
            stream, payload = int.from_bytes(self.inbound[5:9], "big"), self.inbound[9:9 + length]
            self.inbound = self.inbound[9 + length:]
            if kind == 4 and not flags & 1:
                for at in range(0, length, 6):
                    if payload[at:at + 2] == b"\0\4":
                        self.initial = int.from_bytes(payload[at + 2:at + 6], "big")
                self.outbound += frame(4, 1, 0)
                self.begin()
            elif kind == 6 and not flags & 1:
                self.outbound += frame(6, 1, 0, payload)
            elif kind == 8 and stream == 0:
                self.connection += int.from_bytes(payload, "big")
            elif kind == 8 and stream in self.windows:
                self.windows[stream] += int.from_bytes(payload, "big")
            elif kind == 3:
                self.streams -= 1
                self.windows.pop(stream, None)

    def begin(self):
        if self.begun:
            return
        self.begun = True
        for i in range(self.streams):
            stream = 1 + 2 * i
            self.outbound += frame(1, 4 if self.sends else 5, stream, fields(
                (b":method", b"POST" if self.sends else b"GET"), (b":scheme", b"http"), (b":authority", HOST), (b":path", self.path(i))))
            if self.sends:
                self.windows[stream] = self.initial

    def fill(self):
        for stream in list(self.windows):
            while len(self.outbound) < 1 << 20 and (room := min(self.windows[stream], self.connection, 16384)) > 0:
                self.outbound += frame(0, 0, stream, b"q" * room)
                self.windows[stream] -= room
                self.connection -= room


def is_over(visitor):
    try:
        return visitor.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def crowd(port, mode, count, again, reports):
    """All that stall, in one process. Reports how many streams are open and how many were cut, twice a second."""
    kinds = KINDS if mode == "mix" else (mode,)
    share = count // len(kinds)

    def start(kind, number):
        return Http1Peer(port, kind, number) if kind.startswith("h1") else Http2Peer(port, kind, min(STREAMS, share))

    # Woken by changes only: what stalls costs no processor time that others would miss.
    poll, peers, cut, number = select.epoll(), {}, 0, 0
    wanted = [(kind, i) for kind in kinds for i in range(share if kind.startswith("h1") else -(-share // STREAMS))]
    wanted.sort(key=lambda one: one[1])
    last = 0
    while True:
        for kind, i in wanted[:50]:
            try:
                peer = start(kind, i)
                peers[peer.socket.fileno()] = kind, peer
                poll.register(peer.socket, select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET)
            except OSError:
                cut += 1
        del wanted[:50]
        for descriptor, _ in poll.poll(0.05 if wanted else 0.5):
            kind, peer = peers[descriptor]
            before = peer.streams
            is_open = peer.pump()
            if is_open and peer.streams > 0:
                cut += before - peer.streams
                continue
            cut += before if not is_open else before - peer.streams
            del peers[descriptor]
            peer.socket.close()
            if again:
                number += 1
                wanted.append((kind, number))
        if time.monotonic() - last > 0.5 and not wanted:
            last = time.monotonic()
            reports.put((sum(peer.streams for _, peer in peers.values()), cut, sum(peer.moved for _, peer in peers.values())))


def slow(port, count, reports):
    """Honest readers: 64 KiB a second each, of 2 MB. Reports how many have it all, and how many were cut."""
    readers = {}
    for i in range(count):
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        reader.connect(("127.0.0.1", port))
        reader.send(b"GET /slow HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % HOST)
        readers[reader] = [0, time.monotonic() + i / count]
    whole = cut = 0
    last = 0
    while True:
        now = time.monotonic()
        for reader, state in list(readers.items()):
            if now < state[1]:
                continue
            state[1] += 0.25
            try:
                reader.settimeout(0.5)
                piece = reader.recv(16384)
                state[0] += len(piece)
            except TimeoutError:
                continue
            except OSError:
                piece = b""
            if not piece:
                whole, cut = (whole + 1, cut) if state[0] > SLOW else (whole, cut + 1)
                reader.close()
                del readers[reader]
        if now - last > 0.5:
            last = now
            reports.put((len(readers), cut, 0))
        time.sleep(0.005)


class Visitor:
    """Another visitor: small requests, one after the other, in turn on a kept connection and on a new one, in turn GET and POST."""

    def __init__(self, port):
        self.port, self.kept = port, None

    def ask(self, number, patience=20):
        begun = time.perf_counter()
        try:
            if self.kept is None or number % 2:
                visitor = socket.create_connection(("127.0.0.1", self.port), timeout=patience)
                visitor.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            else:
                visitor = self.kept
            visitor.settimeout(patience)
            head, body = (b"POST /post", b"12345") if number // 2 % 2 else (b"GET /small", b"")
            visitor.sendall(b"%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s" % (head, HOST, len(body), body))
            answer = b""
            while b"\r\n\r\n" not in answer or len(answer) - answer.index(b"\r\n\r\n") - 4 < int(re.search(rb"(?i)content-length: *(\d+)", answer)[1]):
                piece = visitor.recv(65536)
                if not piece:
                    break
                answer += piece
            good = answer[9:12] == b"200"
        except OSError:
            good, visitor = False, None
        taken = time.perf_counter() - begun
        if visitor is not self.kept and self.kept is not None and visitor is not None:
            visitor.close()
        else:
            self.kept = visitor if good else None
        return taken * 1000, good

    def measure(self, requests, rate=200):
        """At a constant rate, as far as one after the other allows it."""
        times, slowest, bad, begun = [], [], 0, time.monotonic()
        for number in range(requests):
            time.sleep(max(0.0, begun + number / rate - time.monotonic()))
            taken, good = self.ask(number)
            times.append(taken)
            if taken > 50:
                slowest.append(f"{number}: {taken:.0f} {'new' if number % 2 else 'kept'} {'POST' if number // 2 % 2 else 'GET'}")
            bad += not good
            if bad > 20:
                break
        times.sort()
        return {"p50": times[len(times) // 2], "p99": times[int(len(times) * 0.99)], "max": times[-1], "bad": bad, "of": len(times), "slowest": slowest}


def say(label, figures, others=""):
    print(f"{label:<10} p50 {figures['p50']:7.2f}  p99 {figures['p99']:7.2f}  max {figures['max']:7.1f} ms  failed {figures['bad']}/{figures['of']}  {others}", flush=True)
    if VERBOSE and figures["slowest"]:
        print("           " + ", ".join(figures["slowest"][:VERBOSE]))


def resident(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) // 1024


def settle(reports, mode, again):
    """Until nothing moves any more, or half a minute."""
    last, still, end = -1, 0, time.monotonic() + (5 if again or mode == "slow" else 30)
    standing = cut = 0
    while time.monotonic() < end and (still < 4 or again or mode == "slow"):
        try:
            standing, cut, moved = reports.get(timeout=1)
        except queue.Empty:
            continue
        still = still + 1 if moved == last else 0
        last = moved
    return standing, cut


def metrics(port):
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    wanted = ("_receive_", "streams_active", "stalled_transfers")
    return [line for line in text.splitlines() if not line.startswith("#") and any(word in line for word in wanted)]


def run(mode, options):
    work = tempfile.mkdtemp(prefix="stalled.")
    public, uplink, admin, service, answer, deaf_port = range(options.port, options.port + 6)
    os.makedirs(f"{work}/www")
    for name, size in (("small", 1024), ("middle", MIDDLE), ("big", BIG), ("slow", SLOW)):
        with open(f"{work}/www/{name}", "wb") as file:
            file.write(b"x" * size)
    os.chmod(work, 0o755)
    with open(f"{work}/nginx.conf", "w") as file:
        file.write(NGINX % {"w": work, "service": service, "answer": answer, "deaf": deaf_port,
                            "sends": "" if KERNEL_BUFFERS else f" sndbuf={SEND_BUFFER}"})
    log = open(f"{work}/log", "w")
    reports = multiprocessing.Queue()
    others = [multiprocessing.Process(target=deaf, args=(deaf_port,), daemon=True)]
    others.append(multiprocessing.Process(target=slow, args=(public, options.peers, reports), daemon=True) if mode == "slow"
                  else multiprocessing.Process(target=crowd, args=(public, mode, options.peers, options.again, reports), daemon=True))
    programs = []

    def start(*command):
        programs.append(subprocess.Popen(command, stdout=log, stderr=log))
        return programs[-1]

    def hop(here, there):
        with open(f"{work}/hop{here}.conf", "w") as file:
            file.write(HOP % {"w": work, "here": here, "there": there})
        return start("nginx", "-e", f"{work}/hop{here}.log", "-c", f"{work}/hop{here}.conf", "-g", "daemon off;")

    try:
        others[0].start()
        start("nginx", "-e", f"{work}/nginx.log", "-c", f"{work}/nginx.conf", "-g", "daemon off;")
        if options.nginx:
            entry, agent = [hop(here, there) for here, there in ((public, uplink), (uplink, service))]
        else:
            entry = start("dotnet", f"{options.root}/src/Tunnel2.ProxyEntry/bin/Release/net10.0/tunnel2-entry.dll", f"--Tunnel2:Public:HttpListen=127.0.0.1:{public}",
                          f"--Tunnel2:Uplink:Listen=127.0.0.1:{uplink}", f"--Tunnel2:Admin:Listen=127.0.0.1:{admin}", f"--Tunnel2:Ring:File={work}/ring", *options.setting)
            agent = start("dotnet", f"{options.root}/src/Tunnel2.Client/bin/Release/net10.0/tunnel2.dll", "http", str(service),
                          "--server", f"127.0.0.1:{uplink}", "--name", "web", *(["--verbose"] if options.keep else []),
                          "--uplinks", options.uplinks)
        visitor = Visitor(public)
        for number in range(200):
            if visitor.ask(number, 2)[1]:
                break
            time.sleep(0.1)
        visitor.measure(options.requests // 2)
        idle = visitor.measure(options.requests)
        print(f"\n{mode}, {options.peers} peers, {'two hops of nginx' if options.nginx else options.uplinks + ' uplinks'}{', again when cut' if options.again else ''}")
        say("idle", idle, f"RSS {resident(entry)} + {resident(agent)} MB")
        others[1].start()
        # The service is busy with the crowd as well: what it adds by itself is seen in the one that does not go through the tunnel.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            direct = pool.submit(Visitor(service).measure, options.requests // 2)
            say("filling", visitor.measure(options.requests // 2), f"RSS {resident(entry)} + {resident(agent)} MB")
        say(" (direct)", direct.result())
        standing, cut = settle(reports, mode, options.again)
        stalled = visitor.measure(options.requests)
        while not reports.empty():
            standing, cut, _ = reports.get()
        say("stalled", stalled, f"RSS {resident(entry)} + {resident(agent)} MB, standing {standing}, cut {cut}")
        for line in [] if options.nginx else metrics(admin):
            print(f"           {line}")
        print(f"           p99 {stalled['p99'] / idle['p99']:.2f} x idle")
        return stalled["p99"] / idle["p99"], stalled["bad"]
    finally:
        for process in others:
            if process.pid:
                process.kill()
        for program in reversed(programs):
            program.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        for program in programs:
            program.kill()
            program.wait()
        if options.keep:
            print(f"           log: {work}/log")
        else:
            shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("modes", nargs="*", default=[*KINDS, "mix", "slow"])
    parser.add_argument("--peers", type=int, default=1000)
    parser.add_argument("--uplinks", default="auto")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--port", type=int, default=24080)
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--nginx", action="store_true")
    parser.add_argument("--kernel-buffers", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--setting", action="append", default=[])
    options = parser.parse_args()
    global KERNEL_BUFFERS
    KERNEL_BUFFERS = options.kernel_buffers
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    results = [run(mode, options) for mode in options.modes]
    sys.exit(any(ratio > 3 or bad for ratio, bad in results))


main()
