#!/usr/bin/env python3
"""Agents that connect at a fixed rate, get their WELCOME and leave: handshakes.py PORT PER_SECOND SECONDS [plain]

Open loop: a slow server does not slow the load. Prints how many got through and how long they took.
"""
import asyncio
import os
import ssl
import struct
import sys
import time

port, rate, seconds = (int(word) for word in sys.argv[1:4])
context = None
if "plain" not in sys.argv:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["tunnel2/1"])


def hello():
    def short(data):
        return bytes([len(data)]) + data

    body = b"TNL2" + bytes([1, 1]) + struct.pack(">IIII", 0, 262144, 33554432, 1024)
    body += short(b"load") + short(b"0") + short(os.urandom(16)) + short(b"") + short(b"") + bytes([0]) + struct.pack(">H", 0)
    return len(body).to_bytes(3, "big") + bytes([1]) + bytes(4) + body


async def agent(times):
    started = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        writer.write(hello())
        head = await reader.readexactly(8)
        if head[3] & 0x1F != 2:
            raise RuntimeError(f"type {head[3]} instead of WELCOME")
        times.append(time.monotonic() - started)
    finally:
        writer.transport.abort()


async def main():
    times, tasks = [], []
    started = time.monotonic()
    for i in range(rate * seconds):
        await asyncio.sleep(max(0, started + i / rate - time.monotonic()))
        tasks.append(asyncio.create_task(agent(times)))
    results = await asyncio.gather(*tasks, return_exceptions=True)
    failed = [result for result in results if result is not None]
    times.sort()
    print(f"{len(times)} agents in {time.monotonic() - started:.1f} s, {len(failed)} failed, p50 {times[len(times) // 2] * 1000:.1f} ms, "
          f"p99 {times[len(times) * 99 // 100] * 1000:.1f} ms {failed[:1]}")


asyncio.run(main())
