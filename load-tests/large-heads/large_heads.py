"""What heads that never end pin in ProxyEntry's memory: see run.sh."""

import argparse
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME = 16 * 1024
REMEMBERED, WRITTEN_OUT = 0x40, 0x00


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def number(pattern, prefix, value):
    most = (1 << prefix) - 1
    if value < most:
        return bytes((pattern | value,))
    parts, value = [pattern | most], value - most
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*parts, value))


def field(name, length, pattern=WRITTEN_OUT):
    return bytes((pattern,)) + number(0, 7, len(name)) + name.encode() + number(0, 7, length) + b"v" * length


def begin(port):
    """The fields that every head begins with: of a name that no agent has."""
    pairs = ((":method", "POST"), (":scheme", "http"), (":authority", f"nobody.localhost:{port}"), (":path", "/"))
    return b"".join(
        b"\0" + number(0, 7, len(name)) + name.encode() + number(0, 7, len(value)) + value.encode() for name, value in pairs
    )


KINDS = {
    "one value of 60 KB": lambda: field("x-a", 60_000),
    "one value of 250 KB": lambda: field("x-a", 250_000),
    "one value of 1 MB": lambda: field("x-a", 1_000_000),
    "250 fields of 1 KB": lambda: b"".join(field(f"x-{i}", 1000) for i in range(250)),
    "500 fields of 1 KB": lambda: b"".join(field(f"x-{i}", 1000) for i in range(500)),
    "250 fields of 1 KB that are remembered": lambda: b"".join(field(f"x-{i}", 1000, REMEMBERED) for i in range(250)),
    "500 fields of 1 KB that are remembered": lambda: b"".join(field(f"x-{i}", 1000, REMEMBERED) for i in range(500)),
}


def unfinished(block):
    parts = [block[at : at + FRAME] for at in range(0, len(block), FRAME)]
    return b"".join(frame(1 if i == 0 else 9, 0, 1, part) for i, part in enumerate(parts))


def connect(port, data):
    peer = socket.create_connection(("127.0.0.1", port))
    try:
        peer.sendall(PREFACE + frame(4, 0, 0) + data)
    except OSError:
        pass  # ProxyEntry has ended it.
    return peer


def is_open(peer):
    peer.setblocking(False)
    try:
        while data := peer.recv(65_536):
            if b"\x07\x00\x00\x00\x00\x00" in data:
                return False  # GOAWAY
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def is_served(port):
    peer = connect(port, frame(1, 5, 1, begin(port)))
    peer.settimeout(20)
    data = b""
    try:
        while b"unknown-name" not in data and b"agent-offline" not in data:
            if not (part := peer.recv(65_536)):
                return False
            data += part
    except OSError:
        return False
    peer.close()
    return True


def resident(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


def settled(process):
    """Its resident memory when it has not changed for two seconds."""
    last, since = 0, time.monotonic()
    while time.monotonic() - since < 2:
        now = resident(process)
        if abs(now - last) > 512:
            last, since = now, time.monotonic()
        time.sleep(0.1)
    return last


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run(root, kind, count):
    ports = [free_port() for _ in range(3)]
    with tempfile.TemporaryDirectory() as work:
        entry = subprocess.Popen(
            ["dotnet", f"{root}/src/Tunnel2.ProxyEntry/bin/Release/net10.0/tunnel2-entry.dll",
             f"--Tunnel2:Public:HttpListen=127.0.0.1:{ports[0]}", f"--Tunnel2:Uplink:Listen=127.0.0.1:{ports[1]}",
             f"--Tunnel2:Admin:Listen=127.0.0.1:{ports[2]}", f"--Tunnel2:Ring:File={work}/ring", "--Tunnel2:Timeouts:RequestHead=300s",
             f"--Tunnel2:Limits:Connections={2 * count}",
             f"--Tunnel2:Limits:ConnectionsPerAddress={2 * count}", "--Tunnel2:Timeouts:Park=100ms"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", ports[0])).close()
                    break
                except OSError:
                    time.sleep(0.1)
            is_served(ports[0])
            before = settled(entry)
            data = unfinished(begin(ports[0]) + KINDS[kind]())
            peers = [connect(ports[0], data) for _ in range(count)]
            after = settled(entry)
            still = sum(map(is_open, peers))
            served = is_served(ports[0])
            grown = after - before
            print(f"| {kind} | {still} | {grown // 1024} | {grown / count:.0f} | {'yes' if served else 'NO'} |", flush=True)
            for peer in peers:
                peer.close()
            return served
        finally:
            entry.kill()
            entry.wait()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--connections", type=int, default=1000)
    options.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    chosen = options.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8 * chosen.connections), most))
    print("| the head | connections that are left | MB in all | KB a connection | others are served |\n|---|---|---|---|---|")
    sys.exit(0 if all([run(chosen.root, kind, chosen.connections) for kind in KINDS]) else 1)


if __name__ == "__main__":
    main()
