using System.Buffers.Binary;
using System.Collections.Concurrent;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Http2Backends;

/// <summary>Ordinary exchanges with a service that speaks HTTP/2, of visitors of both versions.</summary>
[Trait("Engine", "each")]
public sealed class Http2ExchangeTests
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task Bodies_of_all_sizes_arrive_both_ways(bool isTls) => Http2Service.RunAsync(isTls, static async (tunnel, _) =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        foreach (var length in new[] { 0, 1, 16_384, 100_000, 3_000_000 })
        {
            var (head, body) = await visitor.ExchangeAsync($"/bytes/{length}", TunnelFixture.Host);
            Assert.Equal((200, length), (head.StatusCode, body.Bytes.Length));
            PatternBytes.Verify(body.Bytes, 0);
            await visitor.WriteAsync($"POST /sink?hash=1 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: {length}\r\n\r\n");
            await visitor.WriteAsync(body.Bytes);
            var answer = await visitor.ReadHeadAsync();
            Assert.Contains(PatternBytes.Sha256Hex(length), (await visitor.ReadBodyAsync(answer)).Text(), StringComparison.Ordinal);
        }
    });

    [Fact]
    public Task A_thousand_requests_at_once_share_a_few_connections() => Http2Service.RunAsync(
        isTls: false,
        static async (tunnel, backend) =>
        {
            using var client = tunnel.CreateClient();
            var answers = await Task.WhenAll(Enumerable.Range(0, 1000).Select(_ => client.GetByteArrayAsync("/bytes/5000")));
            Assert.All(answers, static answer => Assert.Equal(5000, answer.Length));
            Assert.Equal(1000, backend.RequestsStarted);
        });

    [Fact]
    public async Task A_head_arrives_with_its_pseudo_fields_and_without_those_of_http1()
    {
        Http2ServiceRequest? request = null;
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                request = await service.ReadRequestAsync();
                await service.AnswerAsync(request.Id);
            },
            static async tunnel =>
            {
                var (head, body) = await tunnel.ExchangeAsync(
                    "/a/b?c=%20d", fields: "X-Mixed-Case: Value\r\nx-twice: 1\r\nX-Twice: 2\r\nCookie: a=1; b=2\r\nTE: trailers\r\n"
                        + "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=1\r\n");
                Assert.Equal(("HTTP/1.1 200 OK", "well"), (head.StartLine, body.Text()));
            });

        Assert.Equal(
            [(":method", "GET"), (":scheme", "http"), (":path", "/a/b?c=%20d"), (":authority", TunnelFixture.Host)],
            request!.Fields[..4]);
        Assert.True(request.IsWhole);
        Assert.Equal("Value", request["x-mixed-case"]);
        Assert.Equal(["1", "2"], request.Fields.Where(static field => field.Name == "x-twice").Select(static field => field.Value));
        Assert.Equal("a=1; b=2", request["cookie"]);
        Assert.Equal("trailers", request["te"]);
        Assert.DoesNotContain(
            request.Fields, static field => field.Name is "host" or "connection" or "keep-alive" or "x-hop" or "transfer-encoding");
        Assert.DoesNotContain(request.Fields, static field => field.Name.Any(char.IsAsciiLetterUpper));
    }

    [Fact]
    public Task Interim_responses_and_trailers_reach_the_visitor() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            var request = await service.ReadRequestAsync();
            await service.RespondAsync(request.Id, end: false, (":status", "103"), ("link", "</a.css>"));
            await service.RespondAsync(request.Id, end: false, (":status", "200"), ("trailer", "x-sum"));
            await service.WriteAsync(0, 0, request.Id, "body"u8.ToArray());
            await service.RespondAsync(request.Id, end: true, ("x-sum", "abc"), ("grpc-status", "0"));
        },
        static async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync($"GET / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTE: trailers\r\nConnection: TE\r\n\r\n");
            var interim = await visitor.ReadHeadAsync();
            Assert.Equal((103, "</a.css>"), (interim.StatusCode, interim["Link"]));
            var head = await visitor.ReadHeadAsync();
            var body = await visitor.ReadBodyAsync(head);
            Assert.Equal((200, "body"), (head.StatusCode, body.Text()));
            Assert.Equal([new("x-sum", "abc"), new("grpc-status", "0")], body.Trailers);
        });

    [Fact]
    public async Task Trailers_of_a_request_reach_the_service()
    {
        (byte[] Body, List<(string Name, string Value)> Trailers) came = ([], []);
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                var request = await service.ReadRequestAsync();
                came = await service.ReadBodyAsync(request.Id);
                await service.AnswerAsync(request.Id);
            },
            async (visitor, _) =>
            {
                var answer = await visitor.ExchangeAsync(
                    Http2Visitor.Request(isTls: false, method: "POST"), "hello", [("x-sum", "1"), ("x-other", "two")]);
                Assert.Equal((200, "well"), (answer.Status, answer.Body));
            });
        Assert.Equal("hello", Encoding.Latin1.GetString(came.Body));
        Assert.Equal([("x-sum", "1"), ("x-other", "two")], came.Trailers);
    }

    [Fact]
    public Task Both_directions_stream_before_the_response_has_begun_and_after() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            var request = await service.ReadRequestAsync();
            var first = await service.ReadUntilAsync(static frame => frame.Type == 0);
            await service.RespondAsync(request.Id, end: false, (":status", "200"));
            await service.WriteAsync(0, 0, request.Id, [.. first.Payload, (byte)'!']);
            var second = await service.ReadUntilAsync(static frame => frame.Type == 0);
            await service.WriteAsync(0, 1, request.Id, [.. second.Payload, (byte)'?']);
        },
        static async (visitor, _) =>
        {
            var stream = await visitor.OpenAsync(Http2Visitor.Request(isTls: false, method: "POST"));
            await stream.WriteAsync("one"u8.ToArray());
            Assert.Equal("one!"u8.ToArray(), await stream.ReadAsync(4));
            await stream.WriteAsync("two"u8.ToArray());
            Assert.Equal("two?"u8.ToArray(), await stream.ReadToEndAsync());
            await stream.WriteAsync(default, end: true);
        });

    [Theory]
    [InlineData(0x2)]
    [InlineData(0x8)]
    [InlineData(0xb)]
    public Task A_reset_in_the_body_reaches_the_visitor_with_its_code(uint code) => Http2Service.RunAsync(
        async (service, _) =>
        {
            var request = await service.ReadRequestAsync();
            await service.RespondAsync(request.Id, end: false, (":status", "200"));
            await service.WriteAsync(0, 0, request.Id, "part"u8.ToArray());
            await service.ReadUntilAsync(static frame => frame.Type == 0);
            await service.ResetAsync(request.Id, code);
        },
        async (visitor, _) =>
        {
            var stream = await visitor.OpenAsync(Http2Visitor.Request(isTls: false, method: "POST"));
            Assert.Equal("part"u8.ToArray(), await stream.ReadAsync(4));
            await stream.WriteAsync("go"u8.ToArray());
            Assert.Equal(code, await stream.WaitForResetAsync());
        });

    [Fact]
    public Task A_reset_before_the_response_is_a_502_for_an_ordinary_request() => Http2Service.RunAsync(
        static async (service, _) => await service.ResetAsync((await service.ReadRequestAsync()).Id, 2),
        static async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal((502, "backend-protocol"), (head.StatusCode, head["Tunnel2-Error"]));
        });

    [Fact]
    public Task A_stream_that_the_service_refuses_is_sent_again() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            await service.ResetAsync((await service.ReadRequestAsync()).Id, 7);
            await service.AnswerAsync((await service.ReadRequestAsync()).Id);
        },
        static async tunnel => Assert.Equal(200, (await tunnel.ExchangeAsync("/", method: "DELETE")).Head.StatusCode));

    [Fact]
    public Task So_is_one_that_it_refuses_after_an_interim_response() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            var refused = await service.ReadRequestAsync();
            await service.RespondAsync(refused.Id, end: false, (":status", "103"), ("link", "</a.css>"));
            await service.ResetAsync(refused.Id, 7);
            await service.AnswerAsync((await service.ReadRequestAsync()).Id);
        },
        static async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync($"DELETE / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n\r\n");
            Assert.Equal(103, (await visitor.ReadHeadAsync()).StatusCode);
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        });

    [Fact]
    public Task After_a_goaway_the_request_goes_to_a_new_connection() => Http2Service.RunAsync(
        static async (service, number) =>
        {
            var request = await service.ReadRequestAsync();
            if (number == 0)
            {
                await service.WriteAsync(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0]);
                return;
            }

            await service.AnswerAsync(request.Id);
        },
        static async tunnel =>
        {
            Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            Assert.Equal(2, tunnel.RawBackend.ConnectionsAccepted.Value);
        });

    [Fact]
    public Task A_service_that_takes_one_request_on_each_connection_serves_all_that_come_at_once()
    {
        const int AtOnce = 12;
        return Http2Service.RunAsync(
            static async (service, number) =>
            {
                // From the third connection on the agent knows that it takes one.
                var first = await service.ReadRequestAsync();
                for (var others = number < 2 ? AtOnce - 1 - number : 0; others > 0; others--)
                {
                    await service.ReadRequestAsync();
                }

                await service.WriteAsync(7, 0, 0, [.. Http2ServiceConnection.Number((uint)first.Id), 0, 0, 0, 0]);
                await service.AnswerAsync(first.Id);
            },
            static async (Http2Visitor visitor, TunnelFixture tunnel) =>
            {
                var answers = await Task.WhenAll(
                    Enumerable.Range(0, AtOnce).Select(_ => visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))));
                Assert.All(answers, static answer => Assert.Equal(200, answer.Status));
                Assert.Equal(AtOnce, tunnel.RawBackend.ConnectionsAccepted.Value);
            });
    }

    [Fact]
    public async Task How_many_requests_it_takes_on_a_connection_is_learned_and_forgotten_when_it_takes_more()
    {
        const int AtOnce = 12;
        var came = new ConcurrentDictionary<int, int>();
        var limit = 3;
        await Http2Service.RunAsync(
            async (service, number) =>
            {
                var most = limit;
                var taken = new List<uint>();
                while (await service.ReadRequestAsync() is var request)
                {
                    came.AddOrUpdate(number, 1, static (_, count) => count + 1);
                    if (taken.Count < most)
                    {
                        taken.Add((uint)request.Id);
                        await service.AnswerAsync(request.Id);
                    }

                    if (taken.Count == most)
                    {
                        await service.WriteAsync(7, 0, 0, [.. Http2ServiceConnection.Number(taken[^1]), 0, 0, 0, 0]);
                    }
                }
            },
            async (Http2Visitor visitor, TunnelFixture tunnel) =>
            {
                async Task AskAllAsync()
                {
                    came.Clear();
                    var answers = await Task.WhenAll(
                        Enumerable.Range(0, AtOnce).Select(_ => visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))));
                    Assert.All(answers, static answer => Assert.Equal(200, answer.Status));
                }

                await AskAllAsync();
                await AskAllAsync();
                Assert.All(came.Values, static count => Assert.InRange(count, 1, 3));
                limit = 1000;
                await AskAllAsync();
                await AskAllAsync();
                Assert.Contains(came.Values, static count => count == AtOnce);
            });
    }

    [Fact]
    public Task After_a_goaway_a_request_with_a_small_body_goes_to_a_new_connection_too() => Http2Service.RunAsync(
        static async (service, number) =>
        {
            var request = await service.ReadRequestAsync();
            if (number == 0)
            {
                await service.WriteAsync(7, 0, 0, new byte[8]);
                return;
            }

            await service.AnswerAsync(request.Id, Encoding.ASCII.GetString((await service.ReadBodyAsync(request.Id)).Body));
        },
        static async (visitor, tunnel) =>
        {
            Assert.Equal("hello", (await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false, method: "POST"), "hello")).Body);
            Assert.Equal(2, tunnel.RawBackend.ConnectionsAccepted.Value);
        });

    /// <summary>gRPC clients send such a call again, because nothing was done with it, and no other.</summary>
    [Fact]
    public Task A_gRPC_request_that_the_service_refuses_every_time_is_refused_with_the_same_code() => Http2Service.RunAsync(
        static async (service, _) =>
        {
            while (true)
            {
                await service.ResetAsync((await service.ReadRequestAsync()).Id, 7);
            }
        },
        static async (visitor, _) =>
        {
            var request = Http2Visitor.Request(isTls: false, method: "POST", fields: ("content-type", "application/grpc"));
            var answer = await visitor.ExchangeAsync(request, "\0\0\0\0\0");
            Assert.Equal((0, 7), (answer.Status, answer.Reset));
        });

    [Fact]
    public async Task A_visitor_that_leaves_is_a_cancel_at_the_service()
    {
        var cancelled = new TaskCompletionSource<uint>(TaskCreationOptions.RunContinuationsAsynchronously);
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                var request = await service.ReadRequestAsync();
                await service.RespondAsync(request.Id, end: false, (":status", "200"));
                cancelled.SetResult(await service.ReadResetAsync(request.Id));
            },
            async (visitor, _) =>
            {
                var stream = await visitor.OpenAsync(Http2Visitor.Request(isTls: false, method: "POST"));
                await stream.ReadHeadAsync();
                await stream.ResetAsync(8);
                Assert.Equal(8u, await cancelled.Task.WaitAsync(AsyncCounter.DefaultTimeout));
            });
    }

    [Fact]
    public async Task A_visitor_that_does_not_read_leaves_the_bytes_with_the_service()
    {
        const int Piece = 16 * 1024;
        const int Total = 64 * 1024 * 1024;
        const int MostHeld = 8 * 1024 * 1024;
        var sent = new AsyncCounter("bytes that the service was allowed to send");
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                var large = await service.ReadRequestAsync();
                await service.RespondAsync(large.Id, end: false, (":status", "200"));
                var window = 64 * 1024;
                while (true)
                {
                    for (; window >= Piece && sent.Value < Total; window -= Piece)
                    {
                        await service.WriteAsync(0, 0, large.Id, new byte[Piece]);
                        sent.Add(Piece);
                    }

                    var frame = await service.ReadFrameAsync();
                    if (frame.Type == 8 && frame.Id == large.Id)
                    {
                        window += BinaryPrimitives.ReadInt32BigEndian(frame.Payload);
                    }
                    else if (frame.Type == 1)
                    {
                        await service.AnswerAsync(frame.Id);
                    }
                }
            },
            async (visitor, _) =>
            {
                visitor.ReadsNewStreams = false;
                var stream = await visitor.OpenAsync(Http2Visitor.Request(isTls: false), end: true);
                visitor.ReadsNewStreams = true;
                await stream.ReceivedBytes.WaitForAsync(32 * 1024);
                for (var i = 0; i < 100; i++)
                {
                    Assert.Equal("well", (await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))).Body);
                }

                Assert.InRange(sent.Value, 64 * 1024, MostHeld);
                await stream.ResetAsync(8);
            });
    }

    [Fact]
    public async Task A_service_that_grants_no_window_holds_up_that_body_and_nothing_else()
    {
        var body = new byte[200_000];
        Random.Shared.NextBytes(body);
        byte[]? came = null;
        var uploads = new AsyncCounter("uploads that the service knows of");
        await Http2Service.RunAsync(
            async (service, _) =>
            {
                // An answer comes after the service's SETTINGS: from then on the agent knows them.
                await service.AnswerAsync((await service.ReadRequestAsync()).Id, "first");
                var upload = await service.ReadRequestAsync();
                uploads.Increment();

                // Another request passes before a byte of the body does: its head is the next frame.
                var other = await service.ReadUntilAsync(static frame => frame.Type is 0 or 1);
                Assert.Equal(1, other.Type);
                await service.AnswerAsync(other.Id, "other");

                // Windows by SETTINGS, and then one that turns them negative and one that gives all back.
                await service.WriteAsync(4, 0, 0, [0, 4, 0, 0, 0x40, 0]);
                var first = await service.ReadUntilAsync(frame => frame.Type == 0 && frame.Id == upload.Id);
                await service.WriteAsync(4, 0, 0, [0, 4, 0, 0, 0, 0]);
                await service.WriteAsync(8, 0, upload.Id, Http2ServiceConnection.Number(16 * 1024));
                await service.WriteAsync(4, 0, 0, [0, 4, 0, 0x10, 0, 0]);
                await service.WriteAsync(8, 0, 0, Http2ServiceConnection.Number(1 << 20));
                var (rest, trailers) = await service.ReadBodyAsync(upload.Id);
                Assert.Empty(trailers);
                came = [.. first.Payload, .. rest];
                await service.AnswerAsync(upload.Id);
            },
            async (visitor, _) =>
            {
                Assert.Equal("first", (await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))).Body);
                var upload = await visitor.OpenAsync(Http2Visitor.Request(isTls: false, path: "/upload", method: "POST"));
                var sending = upload.WriteAsync(body, end: true);

                // Two requests that wait on the pool may change places.
                await uploads.WaitForAsync(1);
                Assert.Equal("other", (await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))).Body);
                Assert.Equal((200, "well"), await upload.ReadWholeAsync() is var answer ? (answer.Status, answer.Body) : default);
                await sending;
            },
            [0, 4, 0, 0, 0, 0]);
        Assert.True(body.AsSpan().SequenceEqual(came), "The body is another one.");
    }

    [Fact]
    public async Task An_https_service_chooses_http2_by_alpn()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions { UseTls = true });
        await TunnelFixture.RunAsync(
            backend.Port,
            static async tunnel =>
            {
                // The backend sees no wire of HTTP/1.1.
                var (head, _) = await tunnel.ExchangeAsync("/headers");
                Assert.Equal((200, "parsed"), (head.StatusCode, head["X-Fields-From"]));
            },
            new TunnelSetup { Agent = static options => options with { Upstream = options.Upstream with { IsHttps = true } } });
    }

    [Fact]
    public Task A_service_of_http1_that_gets_a_grpc_request_is_asked_in_http1_after_all() => TunnelFixture.RunAsync(static async tunnel =>
    {
        for (var i = 0; i < 3; i++)
        {
            var (head, body) = await tunnel.ExchangeAsync("/bytes/3", fields: "Content-Type: application/grpc\r\n");
            Assert.Equal((200, 3), (head.StatusCode, body.Bytes.Length));
        }
    });

    [Fact]
    public Task A_service_of_http1_that_was_named_h2c_is_a_502() => TunnelFixture.RunAsync(
        static async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal((502, "backend-protocol"), (head.StatusCode, head["Tunnel2-Error"]));
        },
        new TunnelSetup { Agent = Http2Service.Prior });

    [Fact]
    public async Task Nothing_listens_there()
    {
        using var port = new RefusedPort();
        await TunnelFixture.RunAsync(
            port.Port,
            static async tunnel =>
            {
                var (head, _) = await tunnel.ExchangeAsync("/");
                Assert.Equal((502, "backend-refused"), (head.StatusCode, head["Tunnel2-Error"]));
            },
            new TunnelSetup { Agent = Http2Service.Prior });
    }
}
