"""WebSockets by three implementations of Python: websockets, tornado and aiohttp. node/websocket-stacks.mjs does the same by others.

websocket_stacks.py server STACK                    prints "listening PORT"
websocket_stacks.py client STACK PORT HOST RUN      visits the server at a port of this machine, by a name

A server sends each message of /echo back, and closes /close?code=C&reason=R with those. Both ends print what they saw of each connection:
"closed RUN.NUMBER CODE REASON", and the client also "echo KIND LENGTH".
"""
import asyncio
import sys
from urllib.parse import parse_qs, quote, urlsplit

LARGEST = 4 * 1024 * 1024
TEXTS = ["a message", "", "Grüße, 世界 👋", "x" * 70_000]
LENGTHS = [0, 1, 125, 126, 65_535, 65_536, 1_048_576]
CLOSES = [(4002, "enough"), (1000, ""), (1011, "Grüße")]


def report(tag, code, reason):
    print(f"closed {tag} {code} {reason or ''}".rstrip(), flush=True)


def asked(url):
    """The tag of a connection, and the code and reason to close it with."""
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return query["tag"], (int(query["code"]), query.get("reason", "")) if parts.path == "/close" else None


async def serve_websockets():
    import websockets

    async def handle(socket):
        tag, close = asked(socket.path)
        try:
            if close:
                await socket.close(*close)
            while True:
                await socket.send(await socket.recv())
        except websockets.ConnectionClosed:
            report(tag, socket.close_code, socket.close_reason)

    server = await websockets.serve(handle, "127.0.0.1", 0, max_size=LARGEST)
    return server.sockets[0].getsockname()[1]


async def serve_tornado():
    import tornado.httpserver
    import tornado.netutil
    import tornado.web
    import tornado.websocket

    class Handler(tornado.websocket.WebSocketHandler):
        def open(self):
            _, close = asked(self.request.uri)
            if close:
                self.close(*close)

        def on_message(self, message):
            self.write_message(message, binary=isinstance(message, bytes))

        def on_close(self):
            report(asked(self.request.uri)[0], self.close_code, self.close_reason)

    application = tornado.web.Application([(r"/.*", Handler)], websocket_max_message_size=LARGEST)
    sockets = tornado.netutil.bind_sockets(0, "127.0.0.1")
    tornado.httpserver.HTTPServer(application).add_sockets(sockets)
    return sockets[0].getsockname()[1]


async def serve_aiohttp():
    from aiohttp import WSMsgType, web

    async def handle(request):
        tag, close = asked(str(request.rel_url))
        socket = web.WebSocketResponse(max_msg_size=LARGEST, autoclose=True)
        await socket.prepare(request)
        if close:
            await socket.close(code=close[0], message=close[1].encode())
            report(tag, socket.close_code, close[1])
            return socket
        while True:
            message = await socket.receive()
            if message.type == WSMsgType.TEXT:
                await socket.send_str(message.data)
            elif message.type == WSMsgType.BINARY:
                await socket.send_bytes(message.data)
            else:
                report(tag, message.data, message.extra)
                return socket

    application = web.Application()
    application.router.add_get("/{path}", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner.addresses[0][1]


class Websockets:
    def __init__(self, port, host):
        self.port, self.host = port, host

    async def open(self, path):
        import websockets

        self.closed = websockets.ConnectionClosed
        self.socket = await websockets.connect(
            f"ws://{self.host}{path}", host="127.0.0.1", port=self.port, max_size=LARGEST
        )

    async def exchange(self, message):
        await self.socket.send(message)
        return await self.socket.recv()

    async def close(self, code, reason):
        await self.socket.close(code, reason)
        return self.socket.close_code, self.socket.close_reason

    async def wait_closed(self):
        try:
            await self.socket.recv()
        except self.closed:
            pass
        return self.socket.close_code, self.socket.close_reason


class Tornado(Websockets):
    async def open(self, path):
        from tornado.httpclient import HTTPRequest
        from tornado.websocket import websocket_connect

        request = HTTPRequest(f"ws://127.0.0.1:{self.port}{path}", headers={"Host": self.host})
        self.socket = await websocket_connect(request, max_message_size=LARGEST)

    async def exchange(self, message):
        await self.socket.write_message(message, binary=isinstance(message, bytes))
        return await self.socket.read_message()

    async def close(self, code, reason):
        self.socket.close(code, reason)
        return await self.wait_closed()

    async def wait_closed(self):
        while await self.socket.read_message() is not None:
            pass
        return self.socket.close_code, self.socket.close_reason


class Aiohttp(Websockets):
    session = None

    async def open(self, path):
        import aiohttp

        self.session = self.session or aiohttp.ClientSession()
        self.socket = await self.session.ws_connect(
            f"http://127.0.0.1:{self.port}{path}", headers={"Host": self.host}, max_msg_size=LARGEST
        )

    async def exchange(self, message):
        await (self.socket.send_bytes if isinstance(message, bytes) else self.socket.send_str)(message)
        return (await self.socket.receive()).data

    async def close(self, code, reason):
        await self.socket.close(code=code, message=reason.encode())
        return self.socket.close_code, reason

    async def wait_closed(self):
        message = await self.socket.receive()
        return message.data, message.extra


async def visit(client, run):
    await client.open(f"/echo?tag={run}.1")
    for message in TEXTS + [bytes(i % 251 for i in range(length)) for length in LENGTHS]:
        answer = await client.exchange(message)
        if answer != message:
            raise AssertionError(f"{str(message)[:50]} ({len(message)}) came back as {str(answer)[:50]}")
        print("echo", "binary" if isinstance(message, bytes) else "text", len(message), flush=True)
    report(f"{run}.1", *await client.close(4001, "bye"))
    for number, (code, reason) in enumerate(CLOSES, 2):
        await client.open(f"/close?tag={run}.{number}&code={code}&reason={quote(reason)}")
        report(f"{run}.{number}", *await client.wait_closed())
    if isinstance(client, Aiohttp):
        await client.session.close()


async def main():
    role, stack, *rest = sys.argv[1:]
    if role == "server":
        print("listening", await {"websockets": serve_websockets, "tornado": serve_tornado, "aiohttp": serve_aiohttp}[stack](), flush=True)
        await asyncio.Event().wait()
    else:
        port, host, run = rest
        client = {"websockets": Websockets, "tornado": Tornado, "aiohttp": Aiohttp}[stack](int(port), host)
        await asyncio.wait_for(visit(client, run), 50)


asyncio.run(main())
