"""Calls of all kinds to the service of grpc_server.py: grpc_client.py ADDRESS AUTHORITY MESSAGES. node/grpc-client.mjs makes the same.

Many are the cases of gRPC's own tests of interoperability, which have the names in the comments. Prints "ok NAME" or "FAILED NAME: why"; the exit
code is the number of failures.
"""
import os
import queue
import struct
import sys
import threading
import time
import traceback

import grpc

READY, WAITING, CANCELLED = b"\x00", b"\x01", b"\x02"
LIMIT = 120

address, authority, messages = sys.argv[1:]
count = int(messages)
Status = grpc.StatusCode
channel = grpc.insecure_channel(
    address,
    options=(
        ("grpc.default_authority", authority),
        ("grpc.enable_http_proxy", 0),
        ("grpc.keepalive_time_ms", 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
    ),
)
checks = []


def check(name):
    def add(run):
        checks.append((name, run))
        return run

    return add


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{str(actual)[:200]} is not {str(expected)[:200]}")


def path(name):
    return name if name.startswith("/") else f"/tunnel2.Echo/{name}"


def sized(length, answer):
    """A message whose answer is to have a length."""
    return struct.pack("<i", answer) + bytes(length - 4)


def begin(message, fields=(), method="Unary", timeout=LIMIT, compression=None):
    return channel.unary_unary(path(method)).future(message, timeout, metadata=tuple(fields), compression=compression)


def unary(message, fields=(), **more):
    """A call that has ended."""
    call = begin(message, fields, **more)
    call.code()
    return call


def down(message, fields=()):
    return channel.unary_stream(path("Down"))(message, LIMIT, metadata=tuple(fields))


def both(requests, fields=(), timeout=LIMIT):
    return channel.stream_stream(path("Both"))(requests, timeout, metadata=tuple(fields))


def values(metadata, name):
    return [value for key, value in metadata if key == name]


class Requests:
    """The messages that a call is to send, as they are put; None is the end."""

    def __init__(self):
        self.items = queue.Queue()

    def __iter__(self):
        return iter(self.items.get, None)


# empty_unary
@check("an empty message")
def _():
    equal(unary(b"").result(), b"")


# large_unary
@check("a large message and a larger answer")
def _():
    equal(len(unary(sized(271_828, 314_159), [("sized", "1")]).result()), 314_159)


@check("a message of 16 MiB")
def _():
    message = os.urandom(16 * 1024 * 1024)
    equal(unary(message).result() == message, True)


# client_compressed_unary
@check("a compressed message")
def _():
    message = b"compressible " * 10_000
    equal(unary(message, compression=grpc.Compression.Gzip).result() == message, True)


# client_streaming
@check("the client streams")
def _():
    requests = iter([bytes(length) for length in (27_182, 8, 1_828, 45_904)])
    answer = channel.stream_unary(path("Up"))(requests, LIMIT)
    equal(struct.unpack("<q", answer)[0], 74_922)


# server_streaming
@check("the service streams")
def _():
    lengths = [31_415, 9, 2_653, 58_979]
    call = down(struct.pack("<4i", *lengths), [("sized", "1")])
    equal([len(message) for message in call], lengths)
    equal(call.code(), Status.OK)


@check("the service streams many")
def _():
    call = down(struct.pack("<i", count))
    equal([struct.unpack("<i", message)[0] for message in call] == list(range(count)), True)
    equal(call.code(), Status.OK)


# ping_pong
@check("both stream in turns")
def _():
    requests = Requests()
    call = both(iter(requests), [("sized", "1")])
    for length, answer in ((27_182, 31_415), (8, 9), (1_828, 2_653), (45_904, 58_979)):
        requests.items.put(sized(length, answer))
        equal(len(next(call)), answer)
    requests.items.put(None)
    equal(next(call, None), None)
    equal(call.code(), Status.OK)


# empty_stream
@check("a stream without a message")
def _():
    call = both(iter(()))
    equal(list(call), [])
    equal(call.code(), Status.OK)


@check(f"{count} messages both ways")
def _():
    call = both(struct.pack("<i", i) for i in range(count))
    received = 0
    for message in call:
        equal(struct.unpack("<i", message)[0], received)
        received += 1
    equal((received, call.code()), (count, Status.OK))


# custom_metadata
@check("metadata as text and as bytes")
def _():
    data = bytes((0, 1, 2, 0xFE, 0xFF, 10, 13))
    call = unary(
        b"1",
        [
            ("echo-text", "a value, with (signs)"),
            ("echo-data-bin", data),
            ("echo-twice", "1"),
            ("echo-twice", "2"),
            ("echo-trailer-text", "last"),
            ("echo-trailer-bin", data),
        ],
    )
    head, trailers = call.initial_metadata(), call.trailing_metadata()
    equal(values(head, "echo-text"), ["a value, with (signs)"])
    equal(values(head, "echo-data-bin"), [data])
    equal(", ".join(values(head, "echo-twice")).replace(" ", ""), "1,2")
    equal(values(trailers, "echo-trailer-text"), ["last"])
    equal(values(trailers, "echo-trailer-bin"), [data])


@check("metadata of a stream")
def _():
    requests = Requests()
    call = both(iter(requests), [("echo-text", "first"), ("echo-trailer-bin", b"\xab\xab\xab")])
    requests.items.put(b"1")
    equal(next(call), b"1")
    equal(values(call.initial_metadata(), "echo-text"), ["first"])
    requests.items.put(None)
    equal(values(call.trailing_metadata(), "echo-trailer-bin"), [b"\xab\xab\xab"])


# status_code_and_message, special_status_message: answers of trailers alone
def words_arrive(words):
    def run():
        fields = [("fail", "2"), ("why-bin", words.encode())]
        call = unary(b"1", fields)
        equal((call.code(), call.details()), (Status.UNKNOWN, words))
        call = both(iter((b"1",)), fields)
        equal((call.code(), call.details()), (Status.UNKNOWN, words))

    return run


for text in ("test status message", "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n", "100 %", ""):
    checks.append((f"a status with the words {text!r}", words_arrive(text)))


@check("each code of a status")
def _():
    for wanted in range(1, 17):
        equal(unary(b"1", [("fail", str(wanted))]).code().value[0], wanted)


# unimplemented_method, unimplemented_service
@check("a method and a service that are not there")
def _():
    equal(unary(b"1", method="Missing").code(), Status.UNIMPLEMENTED)
    equal(unary(b"1", method="/tunnel2.Missing/Unary").code(), Status.UNIMPLEMENTED)


# cancel_after_begin
@check("a call that is cancelled before its first message")
def _():
    requests = Requests()
    call = channel.stream_unary(path("Up")).future(iter(requests), LIMIT)
    call.cancel()
    requests.items.put(None)
    equal(call.code(), Status.CANCELLED)


# cancel_after_first_response
@check("a call that is cancelled after its first answer")
def _():
    requests = Requests()
    call = both(iter(requests))
    requests.items.put(bytes(27_182))
    equal(len(next(call)), 27_182)
    call.cancel()
    requests.items.put(None)
    equal(call.code(), Status.CANCELLED)


# timeout_on_sleeping_server
@check("a deadline of a millisecond")
def _():
    requests = Requests()
    call = both(iter(requests), timeout=0.001)
    requests.items.put(bytes(27_182))
    equal(call.code(), Status.DEADLINE_EXCEEDED)
    requests.items.put(None)


@check("the service sees a cancellation within a tenth of a second")
def _():
    watch = down(struct.pack("<i", 0), [("watch", "1")])
    equal(next(watch), READY)
    best = float("inf")
    for _ in range(10):
        call = down(struct.pack("<i", 1), [("wait", "1")])
        equal(next(call), struct.pack("<i", 0))
        equal(next(watch), WAITING)
        since = time.perf_counter()
        call.cancel()
        equal(next(watch), CANCELLED)
        best = min(best, time.perf_counter() - since)
        equal(call.code(), Status.CANCELLED)
    watch.cancel()
    # Other programs hold up the machine, but not ten times in a row.
    equal(best < 0.1 or best, True)


@check("a deadline ends the call on both sides")
def _():
    watch = down(struct.pack("<i", 0), [("watch", "1")])
    equal(next(watch), READY)
    events = queue.Queue()

    def follow():
        try:
            for event in watch:
                events.put(event)
        except grpc.RpcError:
            pass

    following = threading.Thread(target=follow)
    following.start()
    # A deadline that is over before the call has reached the service shows nothing: then the next call has longer.
    limit = 0.3
    while events.empty():
        equal(limit < 10 or "no call reached the service before its deadline", True)
        equal(unary(b"1", [("wait", "1")], timeout=limit).code(), Status.DEADLINE_EXCEEDED)
        limit *= 2
    equal((events.get(timeout=LIMIT), events.get(timeout=LIMIT)), (WAITING, CANCELLED))
    watch.cancel()
    following.join()


@check("metadata of a mebibyte are refused, and the next call passes")
def _():
    asked = unary(b"1", [("echo-text", "x" * 1024 * 1024)], timeout=20)
    equal((asked.code(), asked.details()), (Status.RESOURCE_EXHAUSTED, "visitor: Request headers too large (request-head-too-large)"))
    equal(unary(b"1").code(), Status.OK)
    equal(unary(b"1", [("large", str(1024 * 1024))], timeout=20).code() not in (Status.OK, Status.DEADLINE_EXCEEDED), True)
    equal(unary(b"1").code(), Status.OK)


# concurrent_large_unary
@check("a hundred calls at once")
def _():
    wanted = [bytes((i,)) * 30_000 for i in range(100)]
    equal([call.result() for call in [begin(message) for message in wanted]] == wanted, True)


failures = 0
for name, run in checks:
    try:
        run()
        print(f"ok {name}", flush=True)
    except Exception as error:
        failures += 1
        print(f"FAILED {name}: {error}\n{traceback.format_exc()}", flush=True)
sys.exit(failures)
