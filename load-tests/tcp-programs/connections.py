"""Connections that are all open at once: connections.py serve PORT | visit PORT COUNT.

The service sends back what it gets. The visitor opens all connections, then sends each a question of its own and reads the answer, twice over, then ends each
and waits for its end.
"""
import asyncio
import resource
import sys
import time

AT_ONCE = 200


async def serve(port):
    async def echo(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


async def visit(port, count):
    began = time.monotonic()
    gate = asyncio.Semaphore(AT_ONCE)

    async def connect():
        async with gate:
            return await asyncio.open_connection("127.0.0.1", port)

    connections = await asyncio.gather(*(connect() for _ in range(count)))
    opened = time.monotonic()
    for turn in range(2):

        async def ask(i, reader, writer):
            async with gate:
                question = f"turn {turn}, connection {i:06}\n".encode()
                writer.write(question)
                answer = await reader.readexactly(len(question))
                if answer != question:
                    raise AssertionError(f"connection {i} got {answer!r}")

        await asyncio.gather(*(ask(i, *connection) for i, connection in enumerate(connections)))
    asked = time.monotonic()

    async def end(reader, writer):
        async with gate:
            writer.write_eof()
            if await reader.read():
                raise AssertionError("bytes after the end")
            writer.close()

    await asyncio.gather(*(end(*connection) for connection in connections))
    print(f"opened in {opened - began:.1f} s, {2 * count} answers in {asked - opened:.1f} s, ended in {time.monotonic() - asked:.1f} s")


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
if sys.argv[1] == "serve":
    asyncio.run(serve(int(sys.argv[2])))
else:
    asyncio.run(visit(int(sys.argv[2]), int(sys.argv[3])))
