using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Tests.Exchanges;

/// <summary>Bodies of requests on their way to the backend: each framing, each way to break it, at either end.</summary>
public sealed class RequestPumpTests
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    private static readonly (string, string) _ten = ("Content-Length", "10");

    [Fact]
    public Task What_is_there_of_a_body_leaves_with_the_head() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", body: "0123456789", fields: _ten);
        var backend = await fixture.AcceptAsync();
        Assert.EndsWith("Content-Length: 10\r\n\r\n", await backend.ReadHeadAsync(), StringComparison.Ordinal);
        Assert.Equal("0123456789", await backend.ReadAsync(10));
        Assert.Equal(1, backend.Agents.Inner.Sends);
        await backend.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "the connection is kept");
    });

    [Fact]
    public Task The_rest_follows_piece_by_piece() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", body: "01", end: false, fields: _ten);
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        Assert.Equal("01", await backend.ReadAsync(2));
        await ExchangeFixture.SendBodyAsync(asked, "2345");
        Assert.Equal("2345", await backend.ReadAsync(4));
        await ExchangeFixture.SendBodyAsync(asked, "6789", end: true);
        Assert.Equal("6789", await backend.ReadAsync(4));
        await backend.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "the connection is kept");
    });

    [Fact]
    public Task A_body_of_unknown_length_is_sent_in_chunks() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", body: "one", end: false);
        var backend = await fixture.AcceptAsync();
        Assert.EndsWith("Transfer-Encoding: chunked\r\n\r\n", await backend.ReadHeadAsync(), StringComparison.Ordinal);
        Assert.Equal("3\r\none\r\n", await backend.ReadAsync(8));
        await ExchangeFixture.SendBodyAsync(asked, "twelve chars");
        Assert.Equal("c\r\ntwelve chars\r\n", await backend.ReadAsync(17));
        await ExchangeFixture.SendBodyAsync(asked, "", end: true);
        Assert.Equal("0\r\n\r\n", await backend.ReadAsync(5));
        await backend.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "the connection is kept");
    });

    [Fact]
    public Task A_large_chunk_is_cut_to_what_a_buffer_holds() => ExchangeFixture.RunAsync(async fixture =>
    {
        var body = new string('x', 40_000);
        var asked = fixture.Ask(method: "POST", end: false);
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        var sending = ExchangeFixture.SendBodyAsync(asked, body, end: true);
        var seen = 0;
        while (true)
        {
            var line = "";
            while (!line.EndsWith("\r\n", StringComparison.Ordinal))
            {
                line += await backend.ReadAsync(1);
            }

            var size = Convert.ToInt32(line.TrimEnd(), 16);
            Assert.InRange(size, 0, 16 * 1024);
            Assert.Equal(new string('x', size) + "\r\n", await backend.ReadAsync(size + 2));
            seen += size;
            if (size == 0)
            {
                break;
            }
        }

        await sending;
        Assert.Equal(body.Length, seen);
        await backend.SendAsync(Ok);
        Assert.True((await Answer.ReadAsync(asked)).IsWhole);
    });

    [Fact]
    public Task Trailers_go_behind_the_last_chunk_without_what_is_no_trailer() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", body: "one", end: false);
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        SendTrailers(asked, ("X-Sum", "1"), ("Connection", "X-Sum"), ("X-Two", "2"));
        Assert.Equal("3\r\none\r\n0\r\nX-Sum: 1\r\nX-Two: 2\r\n\r\n", await backend.ReadAsync(33));
        await backend.SendAsync(Ok);
        Assert.True((await Answer.ReadAsync(asked)).IsWhole);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "the connection is kept");
    });

    [Fact]
    public Task Trailers_larger_than_the_buffer_get_a_larger_one() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", end: false);
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        var value = new string('v', 7000);
        SendTrailers(asked, ("A", value), ("B", value), ("C", value));
        Assert.Equal($"0\r\nA: {value}\r\nB: {value}\r\nC: {value}\r\n\r\n", await backend.ReadAsync(3 + (3 * 7005) + 2));
        await backend.SendAsync(Ok);
        Assert.True((await Answer.ReadAsync(asked)).IsWhole);
    });

    [Fact]
    public Task A_body_whose_length_was_declared_has_no_place_for_trailers() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", body: "01234", end: false, fields: _ten);
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await ExchangeFixture.SendBodyAsync(asked, "56789");
        SendTrailers(asked, ("X-Sum", "1"));
        Assert.Equal("0123456789", await backend.ReadAsync(10));
        await backend.SendAsync(Ok);
        Assert.True((await Answer.ReadAsync(asked)).IsWhole);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "the connection is kept");
    });

    [Theory]
    [InlineData("Content-Length", "5")]
    [InlineData("Transfer-Encoding", "chunked")]
    [InlineData("Host", "evil")]
    public Task A_trailer_that_could_frame_or_route_a_request_ends_it(string name, string value) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask(method: "POST", body: "one", end: false);
            var backend = await fixture.AcceptAsync();
            await backend.ReadHeadAsync();
            SendTrailers(asked, (name, value));
            Assert.Equal((StreamResetReason.VisitorProtocol, StreamResetDetail.None), (await Answer.ReadAsync(asked)).Reset);
            Assert.False((await backend.ReadToEndAsync()).InOrder);
            Assert.Empty(fixture.Events.Failed);
        });

    [Theory]
    [InlineData("123456789", true)]
    [InlineData("12345678901", true)]
    [InlineData("12345678901", false)]
    public Task A_body_that_is_not_as_long_as_declared_is_never_whole_for_the_backend(string body, bool end) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask(method: "POST", end: false, fields: _ten);
            var backend = await fixture.AcceptAsync();
            await backend.ReadHeadAsync();
            await ExchangeFixture.SendBodyAsync(asked, body, end);
            Assert.Equal((StreamResetReason.VisitorProtocol, StreamResetDetail.None), (await Answer.ReadAsync(asked)).Reset);
            await fixture.UntilAsync(() => backend.IsEnded, "the connection is ended");
            var (got, inOrder) = await backend.ReadToEndAsync();
            Assert.False(inOrder);
            Assert.True(got.Length < 10, got);
        });

    [Fact]
    public Task More_than_declared_is_not_sent_with_the_head_either() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", body: "12345678901", fields: _ten);
        var backend = await fixture.AcceptAsync();
        Assert.Equal((StreamResetReason.VisitorProtocol, StreamResetDetail.None), (await Answer.ReadAsync(asked)).Reset);
        Assert.False((await backend.ReadToEndAsync()).InOrder);
    });

    [Fact]
    public Task A_visitor_who_leaves_within_his_body_ends_the_connection() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", body: "one", end: false);
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await backend.ReadAsync(8);
        asked.Reset(StreamResetReason.Cancel);
        asked.Release();
        Assert.Equal(("", false), await backend.ReadToEndAsync());
        await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
        Assert.Empty(fixture.Events.Failed);
    });

    [Fact]
    public Task An_answer_to_half_a_request_is_heard_and_its_connection_not_used_again() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", body: "01", end: false, fields: _ten);
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await backend.SendAsync("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
        Assert.Equal("413 Too Large|Content-Length: 3", await Answer.ReadHeadAsync(asked));
        Assert.Equal("big", await Answer.ReadBodyAsync(asked, 3));

        // ProxyEntry says when to stop; until then the rest continues.
        await ExchangeFixture.SendBodyAsync(asked, "23456789", end: true);
        Assert.True((await Answer.ReadAsync(asked)).IsWhole);
        Assert.Equal("0123456789", (await backend.ReadToEndAsync()).Text);
        Assert.Equal(0, fixture.Context.Backends.Idle.Count);
    });

    [Fact]
    public Task A_backend_that_closes_within_the_body_has_failed() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", body: "01", end: false, fields: _ten);
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        backend.Close();
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse), (await Answer.ReadAsync(asked)).Reset);
        Assert.Equal(1, fixture.Dialled);
    });

    [Fact]
    public Task A_backend_that_stops_reading_may_still_answer() => ExchangeFixture.RunAsync(async fixture =>
    {
        fixture.OnOpened = static transport => transport.Inner.FailSendAt = 2;
        var asked = fixture.Ask(method: "POST", body: "01", end: false, fields: _ten);
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await ExchangeFixture.SendBodyAsync(asked, "2345");
        await backend.SendAsync(Ok);
        Assert.Equal("ok", await Answer.ReadHeadAsync(asked) == "200 OK|Content-Length: 2" ? await Answer.ReadBodyAsync(asked, 2) : "");
        await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
        Assert.Equal(0, fixture.Context.Backends.Idle.Count);
        asked.Reset(StreamResetReason.None);
        asked.Release();
    });

    [Fact]
    public Task What_the_backend_does_not_take_stays_with_the_visitor() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask(method: "POST", end: false);
        var backend = await fixture.AcceptAsync();
        var piece = new string('x', 16_000);
        var pieces = 0;
        for (Task sending = Task.CompletedTask; sending.IsCompleted && pieces < 200; pieces++)
        {
            sending = ExchangeFixture.SendBodyAsync(asked, piece);
            await fixture.SettleAsync();
        }

        Assert.InRange(pieces, 10, 60);
        backend.Reset();
        await Answer.ReadAsync(asked);
    });

    private static void SendTrailers(Tunnel2.Multiplexing.Streams.TunnelStream stream, params (string Name, string Value)[] fields)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(64 + fields.Sum(static field => field.Name.Length + field.Value.Length + 16)));
        writer.BeginTrailers();
        foreach (var (name, value) in fields)
        {
            writer.AddField(name, value);
        }

        stream.EndHead(writer.Complete(), default, end: true, out _);
    }
}
