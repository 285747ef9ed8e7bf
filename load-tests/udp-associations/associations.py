"""Visitors of ports of UDP, each with an address of its own: associations.py serve PORT | visit FIRST_PORT PORTS VISITORS.

The service sends datagrams back. The visitors print a line after each step, which is a moment to look at the memory of the programs between.
"""
import resource
import selectors
import socket
import sys
import time

LIMIT = 60


def serve(port):
    service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    service.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    service.bind(("127.0.0.1", port))
    while True:
        datagram, visitor = service.recvfrom(65535)
        service.sendto(datagram, visitor)


def exchange(visitors, length):
    """Sends a datagram from each visitor, a few at a time, and again where it was lost, until each has its own back."""
    selector = selectors.DefaultSelector()
    missing = {}
    for i, visitor in enumerate(visitors):
        selector.register(visitor, selectors.EVENT_READ, i)
        missing[i] = visitor
    end = time.monotonic() + LIMIT
    while missing:
        if time.monotonic() > end:
            print(f"FAILED {len(missing)} of {len(visitors)} visitors have no answer of {length} bytes", flush=True)
            sys.exit(1)
        # No more at once than the service's queue takes.
        asked = list(missing)[: max(1, min(100, 150_000 // length))]
        for i in asked:
            missing[i].send(i.to_bytes(4, "big") + bytes(length - 4))
        wait = time.monotonic() + 1
        while any(i in missing for i in asked) and time.monotonic() < wait:
            for key, _ in selector.select(0.1):
                datagram = key.fileobj.recv(65535)
                if len(datagram) == length and int.from_bytes(datagram[:4], "big") == key.data:
                    missing.pop(key.data, None)
                elif len(datagram) == length:
                    print(f"FAILED visitor {key.data} got another's datagram", flush=True)
                    sys.exit(1)
    selector.close()


def visit(first, ports, count):
    visitors = []
    for i in range(ports * count):
        visitor = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # At most 256 associations of a port may come from one address.
        visitor.bind((f"127.0.{1 + i % 100}.1", 0))
        visitor.connect(("127.0.0.1", first + i // count))
        visitors.append(visitor)
    for step, length in (("small datagrams", 100), ("small datagrams again", 100), ("large datagrams", 60_000), ("small datagrams after", 100)):
        exchange(visitors, length)
        time.sleep(2)
        print(f"{len(visitors)} associations, {step}", flush=True)
        time.sleep(1)
    time.sleep(15)
    print("the same, silent for 15 s", flush=True)
    time.sleep(1)


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
if sys.argv[1] == "serve":
    serve(int(sys.argv[2]))
else:
    visit(*(int(argument) for argument in sys.argv[2:]))
