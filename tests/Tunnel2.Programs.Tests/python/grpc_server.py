"""A gRPC service whose messages are bytes: grpc_server.py. node/grpc-server.mjs is the same service.

Prints its port. A call of Down with the field "watch" gets a byte for all that happens to calls that wait.
"""
import queue
import signal
import struct
import threading
from concurrent import futures

import grpc

READY, WAITING, CANCELLED = b"\x00", b"\x01", b"\x02"
CODES = {code.value[0]: code for code in grpc.StatusCode}

watchers = set()
gate = threading.Lock()


def report(what):
    with gate:
        for watcher in watchers:
            watcher.put(what)


class Fields:
    """What the metadata of a request ask for."""

    def __init__(self, context):
        self.all = context.invocation_metadata()

    def get(self, name):
        return next((value for key, value in self.all if key == name), None)

    def echoes(self):
        echoes = [(key, value) for key, value in self.all if key.startswith("echo-")]
        head = [pair for pair in echoes if not pair[0].startswith("echo-trailer")]
        large = self.get("large")
        if large is not None:
            head.append(("echo-large", "x" * int(large)))
        return tuple(head), tuple(pair for pair in echoes if pair[0].startswith("echo-trailer"))

    def answer_to(self, message):
        return message if self.get("sized") is None else bytes(struct.unpack_from("<i", message)[0])

    def fail(self, context):
        code = self.get("fail")
        if code is not None:
            context.abort(CODES[int(code)], (self.get("why-bin") or b"").decode())


def wait_until_cancelled(context):
    over = threading.Event()
    if context.add_callback(over.set):
        report(WAITING)
        over.wait()
        report(CANCELLED)


def unary(request, context):
    fields = Fields(context)
    fields.fail(context)
    if fields.get("wait") is not None:
        wait_until_cancelled(context)
        return b""
    head, trailers = fields.echoes()
    context.send_initial_metadata(head)
    context.set_trailing_metadata(trailers)
    return fields.answer_to(request)


def down(request, context):
    fields = Fields(context)
    if fields.get("watch") is not None:
        yield from watch(context)
        return
    if fields.get("sized") is not None:
        for (length,) in struct.iter_unpack("<i", request):
            yield bytes(length)
    else:
        for i in range(struct.unpack("<i", request)[0]):
            yield struct.pack("<i", i)
    if fields.get("wait") is not None:
        wait_until_cancelled(context)


def watch(context):
    events = queue.Queue()
    with gate:
        watchers.add(events)
    context.add_callback(lambda: events.put(None))
    event = READY
    while event is not None:
        yield event
        event = events.get()
    with gate:
        watchers.discard(events)


def up(requests, context):
    return struct.pack("<q", sum(len(message) for message in requests))


def both(requests, context):
    fields = Fields(context)
    head, trailers = fields.echoes()
    context.send_initial_metadata(head)
    context.set_trailing_metadata(trailers)
    for message in requests:
        fields.fail(context)
        yield fields.answer_to(message)


service = grpc.method_handlers_generic_handler(
    "tunnel2.Echo",
    {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Down": grpc.unary_stream_rpc_method_handler(down),
        "Up": grpc.stream_unary_rpc_method_handler(up),
        "Both": grpc.stream_stream_rpc_method_handler(both),
    },
)
server = grpc.server(
    futures.ThreadPoolExecutor(max_workers=128),
    handlers=(service,),
    options=(("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)),
)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(f"listening {port}", flush=True)
signal.pause()
