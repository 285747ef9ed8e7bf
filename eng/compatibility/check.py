#!/usr/bin/env python3
"""Runs agents and servers of two versions with each other and writes a table of what was seen into a document.

Everything is on loopback, at free ports. The exit code is 1 when a row is not as it should be; the table is written in any case.
"""
import argparse
import base64
import hashlib
import http.client
import http.server
import os
import re
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

LIMIT = 60
NAME = "web"
HOST = f"{NAME}.localhost"
BODY = bytes(range(256)) * 4096
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Service(http.server.BaseHTTPRequestHandler):
    """The private service: a large answer, an echo, and a WebSocket that echoes one message."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.headers.get("Upgrade", "").lower() == "websocket":
            key = base64.b64encode(hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + GUID).digest()).decode()
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept", key)
            self.end_headers()
            write_frame(self.wfile, read_frame(self.rfile), masked=False)
            self.close_connection = True
            return
        self.answer(BODY)

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def read_frame(stream):
    first, second = stream.read(2)
    length = second & 127
    if length == 126:
        length = struct.unpack(">H", stream.read(2))[0]
    mask = stream.read(4) if second & 128 else b"\0\0\0\0"
    return bytes(byte ^ mask[index % 4] for index, byte in enumerate(stream.read(length)))


def write_frame(stream, payload, masked):
    mask = secrets.token_bytes(4) if masked else b""
    head = bytes([0x81, (128 if masked else 0) | 126]) + struct.pack(">H", len(payload))
    body = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload)) if masked else payload
    stream.write(head + mask + body)
    stream.flush()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Process:
    """A program whose lines are kept, and which ends with the block it is used in."""

    def __init__(self, folder, project, assembly, arguments, environment):
        command = ["dotnet", os.path.join(folder, project, assembly + ".dll"), *arguments]
        home = os.path.join(folder, "home")
        os.makedirs(home, exist_ok=True)
        self.lines = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=home,
            env={**os.environ, "HOME": home, "XDG_STATE_HOME": home, "XDG_RUNTIME_DIR": home, **environment})
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip())
                self.changed.notify_all()
        with self.changed:
            self.lines.append(None)
            self.changed.notify_all()

    def line(self, pattern, after=0):
        """The first line that matches; fails when the program ends before."""
        with self.changed:
            found = lambda: next((line for line in self.lines[after:] if line is not None and re.search(pattern, line)), None)
            self.changed.wait_for(lambda: found() or (self.lines and self.lines[-1] is None), LIMIT)
            if found() is None:
                raise RuntimeError(f"no line '{pattern}' in: {self.text()}")
            return found()

    def text(self):
        return "\n".join(line for line in self.lines if line is not None)

    def end(self):
        return self.process.wait(LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


class Pair:
    """A server of one version and agents of the other."""

    def __init__(self, server, agent, service):
        self.server, self.agent, self.service = server, agent, service
        self.public, self.uplink, self.admin = free_port(), free_port(), free_port()
        # The certificate that agents pin is kept over the change of versions.
        self.state = tempfile.mkdtemp()
        self.token = "t2_" + secrets.token_urlsafe(32)

    def start_server(self, *settings, folder=None):
        arguments = [
            f"--Tunnel2:Public:HttpListen=127.0.0.1:{self.public}", f"--Tunnel2:Uplink:Listen=127.0.0.1:{self.uplink}",
            f"--Tunnel2:Admin:Listen=127.0.0.1:{self.admin}", "--Tunnel2:Uplink:Certificate=self-made",
            "--Tunnel2:AllowAnonymousAgents=false", f"--Tunnel2:StateFolder={self.state}",
            f"--Tunnel2:Agents:{NAME}:TokenHash=sha256:{hashlib.sha256(self.token.encode()).hexdigest()}", *settings]
        started = Process(folder or self.server, "Tunnel2.ProxyEntry", "tunnel2-entry", arguments, {})
        self.fingerprint = re.search(r"sha256:[0-9a-f]{64}", started.line(r"--server-fingerprint sha256:")).group()
        started.line("Listening for agents|Now listening|ready")
        return started

    def start_agent(self, *arguments, command="http", token=None):
        return Process(
            self.agent, "Tunnel2.Client", "tunnel2",
            [command, str(self.service), "--server", f"tls://127.0.0.1:{self.uplink}", "--server-fingerprint", self.fingerprint,
             *(["--name", NAME] if command == "http" else []), *arguments],
            {"TUNNEL2_TOKEN": token or self.token})

    def ask(self, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.public, timeout=LIMIT)
        connection.request(method, "/", body, {"Host": HOST})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content


def get(pair):
    return pair.ask() == (200, BODY), "200, 1 MiB unchanged"


def post(pair):
    sent = secrets.token_bytes(len(BODY))
    return pair.ask("POST", sent) == (200, sent), "200, 1 MiB each way"


def websocket(pair):
    with socket.create_connection(("127.0.0.1", pair.public), LIMIT) as connection, connection.makefile("rwb") as stream:
        stream.write(
            f"GET / HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {base64.b64encode(secrets.token_bytes(16)).decode()}\r\n\r\n".encode())
        stream.flush()
        status = stream.readline()
        while stream.readline() not in (b"\r\n", b""):
            pass
        sent = b"x" * 1000
        write_frame(stream, sent, masked=True)
        return b" 101 " in status and read_frame(stream) == sent, "101, a message and its echo"


def wrong_token(pair):
    with pair.start_agent("--exit-on-failure", token="t2_" + secrets.token_urlsafe(32)) as agent:
        code = agent.end()
        return code == 3, f"refused, exit code {code}"


def refused(*arguments, command="http"):
    def look(pair):
        with pair.start_agent("--exit-on-failure", *arguments, command=command) as agent:
            code = agent.end()
            reason = next((line for line in reversed(agent.lines) if line), "")
            return code in (2, 3) and "Forwarding" not in agent.text(), f"refused, exit code {code}: “{reason}”"
    return look


def works_with(*arguments):
    def look(pair):
        with pair.start_agent(*arguments) as agent:
            agent.line("Forwarding")
            status, _ = pair.ask()
            return status == 401, f"{status} without a login"
    return look


def guarded(pair, secret):
    with pair.start_server(f"--Tunnel2:Agents:{NAME}:BasicAuth:0={secret}"), pair.start_agent() as agent:
        agent.line("Forwarding")
        status, _ = pair.ask()
        return status == 401, f"{status} without a login: the server alone decides"


def attempt(rows, words, look, *arguments):
    try:
        passed, seen = look(*arguments)
    except Exception as exception:
        passed, seen = False, f"{type(exception).__name__}: {str(exception)[-600:]}"
    rows.append((words, passed, seen))
    print(f"{'ok  ' if passed else 'FAIL'} {words}: {seen}", flush=True)


def common(pair, rows):
    """What every pair of versions has to do."""
    entry = pair.start_server()
    try:
        with pair.start_agent() as agent:
            attempt(rows, "token and TLS with a pinned certificate", lambda: (bool(agent.line("Forwarding")), "`Forwarding`"))
            attempt(rows, "GET", get, pair)
            attempt(rows, "POST with a body", post, pair)
            attempt(rows, "WebSocket", websocket, pair)
            seen = len(agent.lines)
            entry.stop()
            entry = pair.start_server(folder=pair.agent)
            attempt(
                rows, "the server is replaced by one of the agent's version",
                lambda: (bool(agent.line("Forwarding", seen)) and get(pair)[0], "the agent is back, 200"))
        entry.stop()
        entry = pair.start_server()
        attempt(rows, "a wrong token", wrong_token, pair)
    finally:
        entry.stop()


def hash_of(program):
    run = subprocess.run(
        ["dotnet", os.path.join(program, "Tunnel2.Client", "tunnel2.dll"), "hash-password", "me"], input="secret-enough\n", text=True,
        capture_output=True, check=True)
    return next(word for line in run.stdout.splitlines() for word in line.split() if word.startswith("me:"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("old", "new", "revision", "date", "document"):
        parser.add_argument("--" + name, required=True)
    given = parser.parse_args()
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    port = service.server_address[1]

    old_agent, new_agent = [], []
    print(f"== agent {given.revision}, server of this version")
    pair = Pair(given.new, given.old, port)
    common(pair, old_agent)
    attempt(old_agent, "the server's settings ask visitors for a login (`BasicAuth`)", lambda: guarded(pair, hash_of(given.new)))

    print(f"== agent of this version, server {given.revision}")
    pair = Pair(given.old, given.new, port)
    common(pair, new_agent)
    # A server that knows the feature keeps it; one that does not has to refuse: a tunnel without the protection that was asked for is none.
    knows = has_access_rules(given.old)
    with pair.start_server():
        for words, arguments in (
                ("`--basic-auth`", ["--basic-auth", "me:secret-enough"]), ("`--allow-ip`", ["--allow-ip", "192.0.2.0/24"]),
                ("`--oidc`", ["--oidc", "staff"])):
            if knows and words == "`--basic-auth`":
                attempt(new_agent, words, works_with(*arguments), pair)
            elif not knows:
                attempt(new_agent, words, refused(*arguments), pair)
        if not knows:
            attempt(new_agent, "`tunnel2 tcp`", refused(command="tcp"), pair)

    write(given, old_agent, new_agent)
    sys.exit(0 if all(passed for _, passed, _ in old_agent + new_agent) else 1)


def has_access_rules(program):
    with open(os.path.join(program, "Tunnel2.ProxyEntry", "Tunnel2.Protocol.dll"), "rb") as file:
        return b"AccessRules" in file.read()


def write(given, old_agent, new_agent):
    lines = [f"Seen with revision `{given.revision}` of {given.date}:", ""]
    for title, rows in (
            (f"agent `{given.revision}`, server of this version", old_agent), (f"agent of this version, server `{given.revision}`", new_agent)):
        lines += [f"| {title[0].upper() + title[1:]} | | Seen |", "|---|---|---|"]
        lines += [f"| {words} | {'as it should' if passed else '**not so**'} | {' '.join(seen.split())} |" for words, passed, seen in rows]
        lines.append("")
    with open(given.document, encoding="utf-8") as file:
        text = file.read()
    head, tail = text.split("<!-- seen -->\n")[0], text.split("<!-- end of seen -->")[1]
    with open(given.document, "w", encoding="utf-8") as file:
        file.write(head + "<!-- seen -->\n" + "\n".join(lines) + "\n<!-- end of seen -->" + tail)


if __name__ == "__main__":
    main()
