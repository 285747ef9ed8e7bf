using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.WebSockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Live;

public sealed class LiveTests
{
    private static bool Is(System.Text.Json.JsonElement message, string type) => message.GetProperty("type").GetString() == type;

    /// <summary>Waits for the next record.</summary>
    private static RingEntry Read(EventRingReader reader, byte[] buffer)
    {
        Assert.True(reader.Wait(AsyncCounter.DefaultTimeout, TestContext.Current.CancellationToken), "there is no record");
        Assert.Equal(RingReadStatus.Record, reader.TryRead(buffer, out var entry, out _));
        return entry;
    }

    [Fact]
    public Task A_finished_request_is_one_record_of_the_ring() => TunnelFixture.RunAsync(async (TunnelFixture tunnel) =>
    {
        using var reader = tunnel.Entry.Live.Ring!.CreateReader(new EventRingReaderOptions { From = EventRingReaderOptions.FromOldest });
        var (head, _) = await tunnel.ExchangeAsync("/status/418?a=b");
        Assert.Equal(418, head.StatusCode);
        var buffer = new byte[tunnel.Entry.Live.Ring.MaxPayload];
        var entry = Read(reader, buffer);
        Assert.Equal(RecordDecodeStatus.Ok, RequestRecordCodec.Decode(buffer.AsSpan(0, entry.Length), out var record));
        Assert.Equal("web", Encoding.ASCII.GetString(record.SessionName));
        Assert.Equal("/status/418", Encoding.ASCII.GetString(record.Target));
        Assert.Equal((418, RequestMethod.Get, 0), (record.Status, record.Method, record.ErrorCode));
        Assert.True(record.QueueMicroseconds <= record.FirstByteMicroseconds && record.FirstByteMicroseconds <= record.TotalMicroseconds);
        Assert.InRange(
            DateTimeOffset.UnixEpoch.AddMicroseconds(record.StartedUnixMicroseconds),
            DateTimeOffset.UtcNow.AddMinutes(-1),
            DateTimeOffset.UtcNow);
        Assert.NotEqual(0ul, record.SessionId);
        Assert.NotEqual(0u, record.StreamId);
    });

    [Fact]
    public Task The_query_is_recorded_only_where_that_is_asked_for() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            using var reader = tunnel.Entry.Live.Ring!.CreateReader(
                new EventRingReaderOptions { From = EventRingReaderOptions.FromOldest });
            await tunnel.ExchangeAsync("/status/418?a=b");
            var buffer = new byte[tunnel.Entry.Live.Ring.MaxPayload];
            var entry = Read(reader, buffer);
            RequestRecordCodec.Decode(buffer.AsSpan(0, entry.Length), out var record);
            Assert.Equal("/status/418?a=b", Encoding.ASCII.GetString(record.Target));
        },
        new TunnelSetup { Settings = ["Live:Query=true"] });

    [Fact]
    public Task A_request_that_reached_no_session_is_recorded_without_the_name_it_asked_for() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            using var reader = tunnel.Entry.Live.Ring!.CreateReader(
                new EventRingReaderOptions { From = EventRingReaderOptions.FromOldest });
            await tunnel.ExchangeAsync("/", host: "nobody.localhost");
            var buffer = new byte[tunnel.Entry.Live.Ring.MaxPayload];
            var entry = Read(reader, buffer);
            RequestRecordCodec.Decode(buffer.AsSpan(0, entry.Length), out var record);
            Assert.Equal("-", Encoding.ASCII.GetString(record.SessionName));
            Assert.NotEqual(RequestErrorCodes.None, record.ErrorCode);
        }, new TunnelSetup { Settings = ["Timeouts:Park=100ms"] });

    [Fact]
    public Task A_subscriber_gets_snapshots_and_then_every_request_and_its_statistics() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            using var subscriber = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            await subscriber.SubscribeAsync("session.web.>");
            await subscriber.SubscribeAsync("node.stats");
            var status = await subscriber.ReceiveUntilAsync(m => m.ToString().Contains("\"online\""));
            Assert.Contains("\"online\":true", status.ToString());

            // On one connection, so that the records are in the order of the requests.
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 5; i++)
            {
                await visitor.ExchangeAsync($"/status/20{i}", TunnelFixture.Host);
            }

            long seq = 0;
            for (var i = 0; i < 5; i++)
            {
                var request = await subscriber.ReceiveUntilAsync(
                    m => Is(m, "message") && m.GetProperty("channel").GetString() == "session.web.requests");
                Assert.Equal(++seq, request.GetProperty("seq").GetInt64());
                Assert.Equal(200 + i, request.GetProperty("data").GetProperty("status").GetInt32());
            }

            var requests = 0;
            while (requests < 5)
            {
                var window = await subscriber.ReceiveUntilAsync(
                    m =>
                        Is(m, "message")
                            && m.GetProperty("channel").GetString() == "session.web.stats"
                            && m.GetProperty("key").GetString() == "1s");
                requests += window.GetProperty("data").GetProperty("requests").GetInt32();
            }

            Assert.Equal(5, requests);
        });

    [Fact]
    public Task A_message_of_a_megabyte_is_refused_and_no_other_notices() => TunnelFixture.RunAsync(async (TunnelFixture tunnel) =>
    {
        using var other = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
        using var subscriber = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
        try
        {
            await subscriber.SendAsync(new string('x', 1 << 20));
        }
        catch (WebSocketException)
        {
            // It was cut off while it still sent.
        }

        Assert.Equal(WebSocketCloseStatus.MessageTooBig, await subscriber.ReceiveCloseAsync());
        await other.SendAsync("""{"op":"ping","id":"7"}""");
        var pong = await other.ReceiveAsync();
        Assert.Equal("""{"type":"pong","id":"7"}""", pong.ToString());
    });

    [Theory]
    [InlineData("not json", "invalid-json")]
    [InlineData("[]", "invalid-json")]
    [InlineData("""{"op":"subscribe","channel":"a"} x""", "invalid-json")]
    [InlineData("""{"op":"dance"}""", "unknown-op")]
    [InlineData("""{"op":"subscribe"}""", "invalid-channel")]
    [InlineData("""{"op":"subscribe","channel":"a..b"}""", "invalid-channel")]
    [InlineData("""{"op":"subscribe","channel":"a\"b.\u00e9"}""", "invalid-channel")]
    [InlineData("""{"op":"unsubscribe","channel":"a"}""", "not-subscribed")]
    public async Task A_message_that_is_not_understood_is_answered_with_a_code(string message, string code)
    {
        await using var entry = await EntryFixture.StartAsync();
        using var subscriber = await Subscriber.ConnectAsync(entry.Admin);
        await subscriber.SendAsync(message);
        Assert.Equal(code, (await subscriber.ReceiveAsync())!.Value.GetProperty("code").GetString());
        await subscriber.SendAsync("""{"op":"ping"}""");
        Assert.True(Is((await subscriber.ReceiveAsync())!.Value, "pong"));
    }

    [Fact]
    public async Task Ten_thousand_subscriptions_are_refused_from_the_hundred_and_first_on()
    {
        await using var entry = await EntryFixture.StartAsync();
        using var subscriber = await Subscriber.ConnectAsync(entry.Admin);
        var sending = Task.Run(async () =>
        {
            for (var i = 0; i < 10_000; i++)
            {
                await subscriber.SubscribeAsync($"channel.{i}");
            }
        });
        Assert.Equal(WebSocketCloseStatus.PolicyViolation, await subscriber.ReceiveCloseAsync());
        subscriber.Dispose();
        await Assert.ThrowsAnyAsync<Exception>(async () =>
        {
            await sending;
            await subscriber.SubscribeAsync("one.more");
        });
        await WaitSignal.UntilAsync(() => entry.Live.Hub!.Connections == 0 && entry.Live.Guard!.Connections == 0, "the connection is over");
    }

    [Fact]
    public async Task With_a_token_the_hub_asks_for_it_in_either_place()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Admin:Token=s3cret");
        await Assert.ThrowsAsync<WebSocketException>(() => Subscriber.ConnectAsync(entry.Admin));
        using var byHeader = await Subscriber.ConnectAsync(entry.Admin, o => o.SetRequestHeader("Authorization", "Bearer s3cret"));
        using var byProtocol = await Subscriber.ConnectAsync(entry.Admin, o =>
        {
            o.AddSubProtocol("tunnel2.live.v1");
            o.AddSubProtocol("tunnel2.token." + System.Buffers.Text.Base64Url.EncodeToString("s3cret"u8));
        });
        Assert.Equal("tunnel2.live.v1", byProtocol.Socket.SubProtocol);
        await Assert.ThrowsAsync<WebSocketException>(() => Subscriber.ConnectAsync(
            entry.Admin, o => o.AddSubProtocol("tunnel2.token." + System.Buffers.Text.Base64Url.EncodeToString("wrong"u8))));
    }

    [Fact]
    public async Task A_page_of_another_origin_may_not_listen()
    {
        await using var entry = await EntryFixture.StartAsync();
        await Assert.ThrowsAsync<WebSocketException>(
            () => Subscriber.ConnectAsync(entry.Admin, o => o.SetRequestHeader("Origin", "https://evil.example")));
        using var own = await Subscriber.ConnectAsync(entry.Admin, o => o.SetRequestHeader("Origin", $"http://{entry.Admin}"));
    }

    [Fact]
    public async Task More_connections_than_may_be_are_refused_before_the_upgrade_and_counted_out_again()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Hub:MaxConnections=2");
        using var first = await Subscriber.ConnectAsync(entry.Admin);
        using (var second = await Subscriber.ConnectAsync(entry.Admin))
        {
            using var client = new HttpClient();
            using var request = new HttpRequestMessage(HttpMethod.Get, $"http://{entry.Admin}/live");
            request.Headers.Add("Connection", "Upgrade");
            request.Headers.Add("Upgrade", "websocket");
            request.Headers.Add("Sec-WebSocket-Version", "13");
            request.Headers.Add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
            using var answer = await client.SendAsync(request, TestContext.Current.CancellationToken);
            Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
            Assert.NotNull(answer.Headers.RetryAfter);
        }

        await WaitSignal.UntilAsync(() => entry.Live.Guard!.Connections == 1, "the second has been counted out");
        using var third = await Subscriber.ConnectAsync(entry.Admin);
    }

    [Fact]
    public async Task Switched_off_there_is_no_ring_and_the_hub_says_so()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Live=false");
        Assert.Null(entry.Live.Ring);
        using var client = new HttpClient();
        using var answer = await client.GetAsync(new Uri($"http://{entry.Admin}/live"), TestContext.Current.CancellationToken);
        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
    }

    [Fact]
    public Task Without_a_place_for_the_ring_requests_are_forwarded_all_the_same() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            Assert.Null(tunnel.Entry.Live.Ring);
            Assert.Contains(tunnel.Entry.Log.All, line => line.Text.Contains("No live view of requests"));
            var (head, _) = await tunnel.ExchangeAsync("/status/204");
            Assert.Equal(204, head.StatusCode);
        },
        new TunnelSetup { Settings = ["Ring:File=/nonexistent/directory/e1.ring"] });

    [Fact]
    [SuppressMessage("Interoperability", "CA1416", Justification = "Skipped on Windows.")]
    public async Task The_ring_is_the_owners_alone_and_gone_after_an_orderly_stop()
    {
        string path;
        await using (var entry = await EntryFixture.StartAsync())
        {
            path = entry.Live.Ring!.Path;
            Assert.SkipWhen(OperatingSystem.IsWindows(), "File modes are Unix's.");
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
        }

        Assert.False(File.Exists(path));
    }

    [Fact]
    public async Task Subscribers_learn_it_when_the_server_stops()
    {
        await using var entry = await EntryFixture.StartAsync();
        using var subscriber = await Subscriber.ConnectAsync(entry.Admin);
        await subscriber.SendAsync("""{"op":"ping"}""");
        await subscriber.ReceiveAsync();
        var close = subscriber.ReceiveCloseAsync();
        await entry.StopAsync();
        Assert.Equal(WebSocketCloseStatus.EndpointUnavailable, await close);
    }

    [Fact]
    public async Task The_dashboard_is_served_without_a_token_and_holds_no_data()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Admin:Token=s3cret");
        using var client = new HttpClient();
        var page = await client.GetStringAsync(new Uri($"http://{entry.Admin}/"), TestContext.Current.CancellationToken);
        Assert.StartsWith("<!doctype html>", page);
        Assert.DoesNotContain("s3cret", page);
    }
}
