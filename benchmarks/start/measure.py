#!/usr/bin/env python3
"""Starts ProxyEntry and the agent of each folder in turns and reports how long it took: measure.py WORK STARTS REQUESTS FOLDER…; run.sh calls it."""
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time

SERVICE, VISITORS, UPLINK, ADMIN = 18480, 18481, 18482, 18483
RATE = 100
WORK, STARTS, REQUESTS, FOLDERS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
FIGURES = ["ready, s", "its CPU, s", "Forwarding, s", "its CPU, s", "first request, ms", f"p99 of the first {REQUESTS}, ms", "longest, ms", "MB, entry", "MB, agent"]
DIGITS = [3, 3, 3, 3, 1, 1, 1, 0, 0]


def command(folder, program):
    host = os.path.join(folder, program)
    return [host] if os.access(host, os.X_OK) else ["dotnet", host + ".dll"]


def start(folder, program, arguments, methods=None):
    environment = dict(os.environ)
    if methods:
        environment |= {"DOTNET_JitStdOutFile": methods, "DOTNET_JitDisasmSummary": "1"}
    return subprocess.Popen(command(folder, program) + arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)


def ask(port, path, host="web.localhost"):
    """One request on a connection of its own; the status, or 0 where no process listens."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
            return int(answer.split()[1]) if answer else 0
    except ConnectionError:
        return 0


async def connection_of(queue, times):
    """Takes requests by the moment they were due, so that one that waits for a connection waits in the figures, too."""
    reader, writer = await asyncio.open_connection("127.0.0.1", VISITORS)
    while (due := await queue.get()) is not None:
        writer.write(b"GET /s HTTP/1.1\r\nHost: web.localhost\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(head)
        await reader.readexactly(1024)
        times.append((time.monotonic() - due) * 1000)
    writer.close()


async def evenly(count):
    times, queue, begun = [], asyncio.Queue(), time.monotonic()
    connections = [asyncio.create_task(connection_of(queue, times)) for _ in range(10)]
    for i in range(count):
        await asyncio.sleep(max(0, begun + i / RATE - time.monotonic()))
        queue.put_nowait(begun + i / RATE)
    for _ in connections:
        queue.put_nowait(None)
    await asyncio.gather(*connections)
    return sorted(times)


def memory(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def cpu(process):
    """Seconds of processor time so far; on a busy machine it says more than the clock."""
    total = 0
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/schedstat") as times:
            total += int(times.read().split()[0])
    return total / 1e9


def once(folder, methods=None):
    processes = []
    try:
        begun = time.monotonic()
        entry = start(f"{folder}/entry", "tunnel2-entry", [
            f"--Tunnel2:Public:HttpListen=127.0.0.1:{VISITORS}", f"--Tunnel2:Uplink:Listen=127.0.0.1:{UPLINK}", f"--Tunnel2:Admin:Listen=127.0.0.1:{ADMIN}",
            f"--Tunnel2:StateFolder={WORK}/state"], methods and f"{methods}.entry")
        processes.append(entry)
        while ask(ADMIN, "/health/ready", "127.0.0.1") != 200:
            if entry.poll() is not None:
                raise RuntimeError(entry.stdout.read().decode())
            time.sleep(0.001)
        ready = time.monotonic() - begun, cpu(entry)

        # A start of the agent beside a ProxyEntry that is being started would measure both.
        time.sleep(0.5)
        begun = time.monotonic()
        agent = start(f"{folder}/agent", "tunnel2", ["http", str(SERVICE), "--name", "web", "--server", f"127.0.0.1:{UPLINK}"], methods and f"{methods}.agent")
        processes.append(agent)
        for line in agent.stdout:
            if line.startswith(b"Forwarding"):
                break
        else:
            raise RuntimeError("the agent ended")
        forwarding = time.monotonic() - begun, cpu(agent)

        begun = time.monotonic()
        if (status := ask(VISITORS, "/s")) != 200:
            raise RuntimeError(f"status {status}")
        first = (time.monotonic() - begun) * 1000
        times = asyncio.run(evenly(REQUESTS))
        return [*ready, *forwarding, first, times[len(times) * 99 // 100], times[-1], memory(entry), memory(agent)]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.communicate()


def compiled(path):
    """Methods that the JIT compiled, of them for the first time (not again because they are hot)."""
    with open(path) as methods:
        lines = [line for line in methods if "JIT compiled" in line]
    return f"{sum('Tier1' not in line for line in lines)} + {sum('Tier1' in line for line in lines)}"


def main():
    ask(SERVICE, "/s")
    rows = {folder: [] for folder in FOLDERS}
    for folder in FOLDERS:
        once(folder, f"{WORK}/methods-{FOLDERS.index(folder)}")  # Also brings its files into memory.
    print("folder, start: " + "; ".join(FIGURES))
    for i in range(STARTS):
        for folder in FOLDERS:
            rows[folder].append(once(folder))
            print(os.path.basename(folder), i + 1, " ".join(f"{value:.{d}f}" for value, d in zip(rows[folder][-1], DIGITS)), flush=True)
    print("\n| median of " + str(STARTS) + " | " + " | ".join(FIGURES) + " | methods compiled first + again, entry | agent |\n|" + "---|" * (len(FIGURES) + 3))
    for k, folder in enumerate(FOLDERS):
        medians = [statistics.median(values) for values in zip(*rows[folder])]
        print(f"| {os.path.basename(folder)} | " + " | ".join(f"{value:.{d}f}" for value, d in zip(medians, DIGITS))
              + "".join(f" | {compiled(f'{WORK}/methods-{k}.{program}')}" for program in ("entry", "agent")) + " |")


main()
