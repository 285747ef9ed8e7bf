using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.Embed;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Embedding;

/// <summary>An app with <c>UseTunnel2</c>, and what visitors and the app see of each other.</summary>
[Trait("Engine", "each")]
public sealed class EmbeddedAppTests
{
    private const int Total = 64 * 1024 * 1024;

    /// <summary>What the kernel's buffers and the windows may take, far below what is to be sent.</summary>
    private const int Held = 24 * 1024 * 1024;

    [Fact]
    public Task A_visitor_reaches_the_app_which_sees_who_calls_and_what() => EmbeddedTunnel.RunAsync(
        static app => app.MapGet("/who", static (HttpContext context) =>
        {
            var feature = context.Features.Get<ITunnel2Feature>()!;
            return $"{context.Request.Scheme} {context.Request.Host} {context.Connection.RemoteIpAddress} {feature.Name} "
                + $"{feature.VisitorAddress} {feature.PublicUrl}";
        }),
        static async tunnel =>
        {
            var (head, body) = await tunnel.ExchangeAsync(
                "/who", fields: "X-Forwarded-For: 192.0.2.66\r\nX-Forwarded-Proto: https\r\nForwarded: for=192.0.2.66\r\n");
            Assert.Equal(200, head.StatusCode);
            Assert.Equal($"http {EmbeddedTunnel.Host} 127.0.0.1 web 127.0.0.1 {tunnel.Urls.PublicUrl}", body.Text);
            Assert.Equal("web", tunnel.Urls.Name);
            Assert.True(tunnel.Urls.IsOpen);
            Assert.Equal(EmbeddedTunnel.Host, tunnel.Urls.PublicUrl!.Host);

            // There is no port.
            Assert.Equal(["http://tunnel2"], tunnel.Addresses);
            await tunnel.Log.WaitForAsync(3100);
            var opened = Assert.Single(tunnel.Log.All, static line => line.EventId == 3100);
            Assert.Contains($"{tunnel.Urls.PublicUrl}".TrimEnd('/'), opened.Text, StringComparison.Ordinal);
        });

    [Fact]
    public Task Behind_a_trusted_proxy_the_app_sees_the_proxys_visitor_and_scheme() => EmbeddedTunnel.RunAsync(
        static app => app.MapGet("/who", static (HttpContext context) => $"{context.Request.Scheme} {context.Connection.RemoteIpAddress}"),
        static async tunnel =>
        {
            var (_, body) = await tunnel.ExchangeAsync(
                "/who", fields: "X-Forwarded-For: 203.0.113.9, 192.0.2.66\r\nX-Forwarded-Proto: https\r\n");
            Assert.Equal("https 192.0.2.66", body.Text);
        },
        settings: ["TrustedProxies:0=127.0.0.1"]);

    [Fact]
    public Task Another_port_of_the_app_is_not_the_tunnel() => EmbeddedTunnel.RunAsync(
        static app => app.MapGet("/who", static (HttpContext context) =>
            $"{context.Features.Get<ITunnel2Feature>() is null} {context.Request.Scheme} {context.Connection.RemoteIpAddress}"),
        static async tunnel =>
        {
            var port = new Uri(tunnel.Addresses.Single(static address => address != "http://tunnel2")).Port;
            await using var direct = await RawHttpClient.ConnectAsync(new IPEndPoint(IPAddress.Loopback, port));
            var (_, body) = await direct.ExchangeAsync(
                "/who", "localhost", "GET", "X-Forwarded-For: 192.0.2.66\r\nX-Forwarded-Proto: https\r\n");
            Assert.Equal("True http 127.0.0.1", body.Text);
            (_, body) = await tunnel.ExchangeAsync("/who");
            Assert.Equal("False http 127.0.0.1", body.Text);
        },
        build: static builder => builder.WebHost.ConfigureKestrel(static kestrel => kestrel.Listen(IPAddress.Loopback, 0)));

    [Fact]
    public async Task Requests_in_turn_use_one_connection()
    {
        var connections = new ConcurrentDictionary<string, bool>();
        await EmbeddedTunnel.RunAsync(
            app => app.MapGet("/", (HttpContext context) =>
            {
                connections.TryAdd(context.Connection.Id, true);
                return "x";
            }),
            static async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                for (var i = 0; i < 50; i++)
                {
                    var (head, body) = await visitor.ExchangeAsync("/", EmbeddedTunnel.Host);
                    Assert.Equal((200, "x"), (head.StatusCode, body.Text));
                }
            });

        // On several threads the connection may come back a moment after the next request.
        Assert.InRange(connections.Count, 1, TestEngine.IsPortable ? 10 : 1);
    }

    [Theory]
    [InlineData("Content-Length")]
    [InlineData("Transfer-Encoding")]
    public Task Bodies_cross_whole_in_both_directions_at_once(string framing) => EmbeddedTunnel.RunAsync(
        static app => app.MapPost("/echo", static async (HttpContext context) =>
        {
            var buffer = new byte[50_000];
            while (await context.Request.Body.ReadAsync(buffer) is > 0 and var count)
            {
                await context.Response.Body.WriteAsync(buffer.AsMemory(0, count));
            }

            var end = context.Request.SupportsTrailers() ? context.Request.GetTrailer("X-End").ToString() : "";
            await context.Response.WriteAsync("|" + end);
        }),
        async tunnel =>
        {
            const int Length = 5_000_000;
            await using var visitor = await tunnel.ConnectAsync();
            var isChunked = framing == "Transfer-Encoding";
            var sending = Task.Run(async () =>
            {
                await visitor.WriteAsync(
                    $"POST /echo HTTP/1.1\r\nHost: {EmbeddedTunnel.Host}\r\n{framing}: {(isChunked ? "chunked" : $"{Length}")}\r\n\r\n");
                for (var position = 0; position < Length;)
                {
                    var piece = PatternBytes.Window(position, Math.Min(70_000, Length - position));
                    if (isChunked)
                    {
                        await visitor.WriteAsync(string.Create(CultureInfo.InvariantCulture, $"{piece.Length:x}\r\n"));
                    }

                    await visitor.WriteAsync(piece);
                    position += piece.Length;
                    if (isChunked)
                    {
                        await visitor.WriteAsync("\r\n");
                    }
                }

                if (isChunked)
                {
                    await visitor.WriteAsync("0\r\nX-End: yes\r\n\r\n");
                }
            });
            var head = await visitor.ReadHeadAsync();
            var body = await visitor.ReadBodyAsync(head, "POST");
            await sending;
            Assert.Equal(200, head.StatusCode);
            var end = isChunked ? "|yes" : "|";
            Assert.Equal(Length + end.Length, body.Bytes.Length);
            PatternBytes.Verify(body.Bytes.AsSpan(0, Length), 0);
            Assert.Equal(end, Encoding.ASCII.GetString(body.Bytes.AsSpan(Length)));
        });

    [Fact]
    public Task Answers_without_content_are_as_http_has_them() => EmbeddedTunnel.RunAsync(
        static app =>
        {
            app.MapGet("/empty", static () => Results.StatusCode(204));
            app.MapGet("/same", static () => Results.StatusCode(304));
            app.MapMethods("/head", ["HEAD"], static (HttpContext context) => context.Response.ContentLength = 1234);
            app.MapGet("/gone", static () => Results.NotFound());
        },
        static async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            foreach (var (target, method, status) in new[]
            {
                ("/empty", "GET", 204), ("/same", "GET", 304), ("/head", "HEAD", 200), ("/gone", "GET", 404), ("/nothing", "GET", 404),
            })
            {
                var (head, body) = await visitor.ExchangeAsync(target, EmbeddedTunnel.Host, method);
                Assert.Equal((status, 0), (head.StatusCode, body.Bytes.Length));
                Assert.Equal(target == "/head" ? "1234" : head["Content-Length"], head["Content-Length"]);
            }
        });

    [Fact]
    public Task A_websocket_is_echoed_and_closed_in_order() => EmbeddedTunnel.RunAsync(
        static app =>
        {
            app.UseWebSockets();
            app.Map("/ws", EchoAsync);
        },
        static async tunnel =>
        {
            using var socket = await ConnectWebSocketAsync(tunnel);
            var buffer = new byte[64 * 1024];
            for (var i = 0; i < 50; i++)
            {
                var message = Encoding.UTF8.GetBytes($"message {i}");
                await socket.SendAsync(message, WebSocketMessageType.Text, true, CancellationToken.None);
                var received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None);
                Assert.Equal(message, buffer[..received.Count]);
            }

            await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "done", CancellationToken.None);
            Assert.Equal((WebSocketCloseStatus.NormalClosure, "done"), (socket.CloseStatus, socket.CloseStatusDescription));
        });

    [Fact]
    public async Task A_visitor_that_leaves_aborts_the_request_in_the_app()
    {
        var begun = new WaitSignal("the app has the request");
        var aborted = new WaitSignal("the app's request is aborted");
        await EmbeddedTunnel.RunAsync(
            app => app.MapGet("/long", async (HttpContext context) =>
            {
                using var registration = context.RequestAborted.Register(aborted.Set);
                begun.Set();
                await aborted.WaitAsync();
            }),
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/long", EmbeddedTunnel.Host);
                await begun.WaitAsync();
                visitor.Reset();
                await aborted.WaitAsync();
            });
    }

    [Fact]
    public async Task A_visitor_that_leaves_a_download_ends_the_apps_writing()
    {
        var ended = new WaitSignal("the app's writing has ended");
        await EmbeddedTunnel.RunAsync(
            app => app.MapGet("/endless", async (HttpContext context) =>
            {
                try
                {
                    while (true)
                    {
                        await context.Response.Body.WriteAsync(new byte[16 * 1024], context.RequestAborted);
                    }
                }
                catch (OperationCanceledException)
                {
                    ended.Set();
                }
            }),
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/endless", EmbeddedTunnel.Host);
                await visitor.ReadHeadAsync();
                await visitor.ReadExactlyAsync(100_000);
                visitor.Reset();
                await ended.WaitAsync();
            });
    }

    [Fact]
    public Task An_answer_that_the_app_aborts_never_looks_complete() => EmbeddedTunnel.RunAsync(
        static app => app.MapGet("/cut", static async (HttpContext context) =>
        {
            await context.Response.WriteAsync("half");
            await context.Response.Body.FlushAsync();
            context.Abort();
        }),
        static async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/cut", EmbeddedTunnel.Host);
            try
            {
                var head = await visitor.ReadHeadAsync();
                if (head.StatusCode == 200)
                {
                    var body = visitor.OpenBody(head);
                    var buffer = new byte[100];
                    while (await body.ReadAsync(buffer) > 0)
                    {
                    }

                    Assert.NotEqual(ConnectionEnding.Complete, body.Ending);
                }
                else
                {
                    // The abort came before the head had left the app.
                    Assert.Equal(502, head.StatusCode);
                }
            }
            catch (RawConnectionEndedException)
            {
                // Cut with the head.
            }
        });

    [Fact]
    public async Task An_app_that_does_not_read_stops_its_visitor_and_no_other()
    {
        var mayRead = new WaitSignal("the app may read");
        var sent = new AsyncCounter("bytes that the visitor sent");
        await EmbeddedTunnel.RunAsync(
            app =>
            {
                app.MapGet("/small", static () => "x");
                app.MapPost("/big", async (HttpContext context) =>
                {
                    context.Features.Get<IHttpMaxRequestBodySizeFeature>()!.MaxRequestBodySize = null;
                    context.Features.Get<Microsoft.AspNetCore.Server.Kestrel.Core.Features.IHttpMinRequestBodyDataRateFeature>()!
                        .MinDataRate = null;
                    await mayRead.WaitAsync();
                    long total = 0;
                    var buffer = new byte[256 * 1024];
                    while (await context.Request.Body.ReadAsync(buffer) is > 0 and var count)
                    {
                        PatternBytes.Verify(buffer.AsSpan(0, count), total);
                        total += count;
                    }

                    return total;
                });
            },
            async tunnel =>
            {
                await using var slow = await tunnel.ConnectAsync();
                await slow.WriteAsync($"POST /big HTTP/1.1\r\nHost: {EmbeddedTunnel.Host}\r\nContent-Length: {Total}\r\n\r\n");
                var sending = Task.Run(async () =>
                {
                    for (var position = 0; position < Total;)
                    {
                        var piece = PatternBytes.Window(position, Math.Min(64 * 1024, Total - position));
                        await slow.WriteAsync(piece);
                        position += piece.Length;
                        sent.Set(position);
                    }
                });
                await sent.WaitForAsync(ProtocolLimits.DefaultStreamWindow);
                for (var i = 0; i < 200; i++)
                {
                    Assert.Equal(200, (await tunnel.ExchangeAsync("/small")).Head.StatusCode);
                }

                Assert.InRange(sent.Value, 1, Held);
                mayRead.Set();
                await sending;
                var head = await slow.ReadHeadAsync();
                Assert.Equal($"{Total}", (await slow.ReadBodyAsync(head, "POST")).Text);
            });
    }

    [Fact]
    public async Task A_visitor_that_does_not_read_stops_the_app_and_no_other()
    {
        var written = new AsyncCounter("bytes that the app wrote");
        await EmbeddedTunnel.RunAsync(
            app =>
            {
                app.MapGet("/small", static () => "x");
                app.MapGet("/big", async (HttpContext context) =>
                {
                    context.Features.Get<Microsoft.AspNetCore.Server.Kestrel.Core.Features.IHttpMinResponseDataRateFeature>()!
                        .MinDataRate = null;
                    context.Response.ContentLength = Total;
                    for (var position = 0; position < Total;)
                    {
                        var piece = PatternBytes.Window(position, Math.Min(64 * 1024, Total - position));
                        await context.Response.Body.WriteAsync(piece);
                        position += piece.Length;
                        written.Set(position);
                    }
                });
            },
            async tunnel =>
            {
                await using var slow = await tunnel.ConnectAsync(receiveBufferSize: 16 * 1024);
                await slow.SendRequestAsync("/big", EmbeddedTunnel.Host);
                var head = await slow.ReadHeadAsync();
                await written.WaitForAsync(ProtocolLimits.DefaultStreamWindow);
                for (var i = 0; i < 200; i++)
                {
                    Assert.Equal(200, (await tunnel.ExchangeAsync("/small")).Head.StatusCode);
                }

                Assert.InRange(written.Value, 1, Held);
                var reader = slow.OpenBody(head);
                var buffer = new byte[256 * 1024];
                var total = 0;
                while (await reader.ReadAsync(buffer) is > 0 and var count)
                {
                    PatternBytes.Verify(buffer.AsSpan(0, count), total);
                    total += count;
                }

                Assert.Equal((Total, ConnectionEnding.Complete), (total, reader.Ending));
            });
    }

    [Fact]
    public Task Many_visitors_at_once_get_their_own_answers() => EmbeddedTunnel.RunAsync(
        static app => app.MapGet("/{number}", static async (int number) =>
        {
            await Task.Yield();
            return number.ToString(CultureInfo.InvariantCulture);
        }),
        static tunnel => Task.WhenAll(Enumerable.Range(0, 40).Select(async visitor =>
        {
            await using var connection = await tunnel.ConnectAsync();
            for (var i = 0; i < 50; i++)
            {
                var (head, body) = await connection.ExchangeAsync($"/{(visitor * 1000) + i}", EmbeddedTunnel.Host);
                Assert.Equal((200, $"{(visitor * 1000) + i}"), (head.StatusCode, body.Text));
            }
        })));

    [Fact]
    public Task Access_rules_are_checked_before_the_app() => EmbeddedTunnel.RunAsync(
        static app => app.MapGet("/", static () => "x"),
        static async tunnel =>
        {
            Assert.Equal(401, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            var login = Convert.ToBase64String("anna:secret word"u8);
            Assert.Equal(200, (await tunnel.ExchangeAsync("/", fields: $"Authorization: Basic {login}\r\n")).Head.StatusCode);
        },
        static options => options.BasicAuth.Add("anna:secret word"));

    private static async Task EchoAsync(HttpContext context)
    {
        using var socket = await context.WebSockets.AcceptWebSocketAsync();
        var buffer = new byte[16 * 1024];
        while (true)
        {
            var received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None);
            if (received.MessageType == WebSocketMessageType.Close)
            {
                await socket.CloseAsync(socket.CloseStatus!.Value, socket.CloseStatusDescription, CancellationToken.None);
                return;
            }

            await socket.SendAsync(
                buffer.AsMemory(0, received.Count), received.MessageType, received.EndOfMessage, CancellationToken.None);
        }
    }

    private static async Task<ClientWebSocket> ConnectWebSocketAsync(EmbeddedTunnel tunnel)
    {
        var socket = new ClientWebSocket();
        using var invoker = new HttpMessageInvoker(new SocketsHttpHandler
        {
            UseProxy = false,
            ConnectCallback = async (_, cancellationToken) =>
            {
                var connection = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await connection.ConnectAsync(tunnel.Entry.Http, cancellationToken);
                return new NetworkStream(connection, ownsSocket: true);
            },
        });
        await socket.ConnectAsync(
            new Uri($"ws://{EmbeddedTunnel.Host}:{tunnel.Entry.Http.Port}/ws"), invoker, CancellationToken.None);
        return socket;
    }
}
