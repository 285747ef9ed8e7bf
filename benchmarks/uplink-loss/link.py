#!/usr/bin/python3
"""A link between two network namespaces that delays packets and loses some: link.py PROCESS DELAY LOSS SEED

Makes 10.99.0.1 in its own namespace and 10.99.0.2 in that of the process, and passes each packet on after DELAY milliseconds. LOSS of a
hundred are lost, each by chance and in both directions. It loses packets of IP, so TCP at both ends does all that it does on such a path.
Prints "ready", and when it is ended how many packets it passed and lost. Needs root, ip and nsenter.
"""
import collections
import fcntl
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
MTU = 1500
# The queue of a router: packets beyond it are lost too.
LONGEST_QUEUE = 2000
# Packets that are read before those that are due are sent.
BATCH = 64

process, delay, loss, seed = sys.argv[1], float(sys.argv[2]) / 1000, float(sys.argv[3]) / 100, int(sys.argv[4])
chance = random.Random(seed)
passed = lost = overflowed = 0


def make(name):
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return descriptor


def run(*command):
    subprocess.run(command, check=True)


def set_up(name, address, *namespace):
    run(*namespace, "ip", "link", "set", name, "mtu", str(MTU), "up")
    run(*namespace, "ip", "address", "add", address, "dev", name)


def end(*_):
    print(f"link: {passed} packets passed, {lost} lost, {overflowed} beyond the queue", flush=True)
    os._exit(0)


here, there = make("t2here"), make("t2there")
run("ip", "link", "set", "t2there", "netns", process)
set_up("t2here", "10.99.0.1/30")
set_up("t2there", "10.99.0.2/30", "nsenter", "-t", process, "-n")
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)

ways = [(here, there, collections.deque()), (there, here, collections.deque())]
while True:
    now = time.monotonic()
    wait = None
    for _, target, queue in ways:
        while queue and queue[0][0] <= now:
            try:
                os.write(target, queue.popleft()[1])
                passed += 1
            except OSError:
                lost += 1
        if queue:
            wait = min(queue[0][0] - now, wait if wait is not None else delay)
    readable = select.select([here, there], [], [], wait)[0]
    for source, _, queue in ways:
        if source not in readable:
            continue
        for _ in range(BATCH):
            try:
                packet = os.read(source, MTU + 100)
            except BlockingIOError:
                break
            if chance.random() < loss:
                lost += 1
            elif len(queue) >= LONGEST_QUEUE:
                overflowed += 1
            else:
                queue.append((time.monotonic() + delay, packet))
