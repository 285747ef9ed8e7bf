using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Tests.Exchanges;

/// <summary>Bodies of responses: each framing, each way to break it.</summary>
public sealed class ResponseBodyPumpTests
{
    private const string Chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "one two three", "one two t", true)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n", "one two three", "one two three", false)]
    public Task A_body_of_a_known_length_ends_there(string head, string sent, string body, bool isSurplus) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask();
            var backend = await fixture.AcceptAsync();
            await backend.ReadHeadAsync();
            await backend.SendAsync(head);
            await fixture.SettleAsync();
            await backend.SendAsync(sent[..4]);
            await fixture.SettleAsync();
            await backend.SendAsync(sent[4..]);
            var answer = await Answer.ReadAsync(asked);
            Assert.Equal((body, true), (answer.Body, answer.IsWhole));
            await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
            Assert.Equal((isSurplus ? 0 : 1, isSurplus ? 1 : 0), (fixture.Context.Backends.Idle.Count, fixture.Events.Surpluses));
        });

    [Theory]
    [InlineData("Content-Length: 8", "half", "rest", false)]
    [InlineData("Transfer-Encoding: chunked", "4\r\nhalf\r\n", "4\r\nrest\r\n0\r\n\r\n", false)]
    [InlineData("Connection: close", "half", "rest", true)]
    public Task The_bytes_of_the_body_are_counted_with_every_framing(string field, string half, string rest, bool closes) =>
        ExchangeFixture.RunAsync(
            async fixture =>
            {
                var asked = fixture.Ask();
                var backend = await fixture.AcceptAsync();
                await backend.ReadHeadAsync();
                await backend.SendAsync($"HTTP/1.1 200 OK\r\n{field}\r\n\r\n");
                await fixture.SettleAsync();
                await backend.SendAsync(half);
                await fixture.SettleAsync();
                await backend.SendAsync(rest);
                if (closes)
                {
                    await fixture.SettleAsync();
                    backend.Close();
                }

                Assert.Equal("halfrest", (await Answer.ReadAsync(asked)).Body);
                await fixture.UntilAsync(() => fixture.Events.Completed.Count == 1, "it is reported");
                Assert.Equal((0L, 8L), (fixture.Events.Completed[0].RequestBytes, fixture.Events.Completed[0].ResponseBytes));
            },
            wantsRequests: true);

    [Theory]
    [InlineData("Connection: close\r\nContent-Length: 1000000", "", "")]
    [InlineData("Connection: close\r\nTransfer-Encoding: chunked", "F4240\r\n", "\r\n0\r\n\r\n")]
    public Task A_few_large_bodies_read_ahead_and_the_others_hold_nothing_for_visitors_who_take_nothing(
        string field, string before, string after) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            const int Window = 256 * 1024;
            const int Others = 3;
            var body = new string('x', 1_000_000);
            List<(TunnelStream Asked, Task Sending)> all = [];
            for (var i = 0; i < ReadAhead.DefaultPlaces + Others; i++)
            {
                var asked = fixture.Ask();
                var backend = await fixture.AcceptAsync();
                await backend.ReadHeadAsync();
                all.Add((asked, backend.SendAsync($"HTTP/1.1 200 OK\r\n{field}\r\n\r\n{before}{body}{after}")));
                await fixture.UntilAsync(() => fixture.Pair.Entry.ReceiveCredit.Held == all.Count * Window, "the stream's window is full");
            }

            await fixture.SettleAsync();
            Assert.Equal(ReadAhead.DefaultPlaces, fixture.Buffers.Outstanding);
            foreach (var (asked, sending) in all)
            {
                Assert.False(sending.IsCompleted);
                var answer = await Answer.ReadAsync(asked);
                Assert.Equal((body, true), (answer.Body, answer.IsWhole));
                await sending;
            }

            // The places are free again.
            var next = fixture.Ask();
            var again = await fixture.AcceptAsync();
            await again.ReadHeadAsync();
            var rest = again.SendAsync($"HTTP/1.1 200 OK\r\n{field}\r\n\r\n{before}{body}{after}");
            await fixture.UntilAsync(() => fixture.Pair.Entry.ReceiveCredit.Held == Window, "the stream's window is full");
            await fixture.SettleAsync();
            Assert.Equal(1, fixture.Buffers.Outstanding);
            Assert.True((await Answer.ReadAsync(next)).IsWhole);
            await rest;
        });

    [Fact]
    public Task A_visitor_who_leaves_while_nothing_may_be_sent_ends_the_exchange() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        var sending = backend.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + new string('x', 1_000_000));
        await fixture.UntilAsync(() => fixture.Pair.Entry.ReceiveCredit.Held == 256 * 1024, "the stream's window is full");
        asked.Reset(StreamResetReason.Cancel);
        asked.Release();
        await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
        await Assert.ThrowsAnyAsync<IOException>(() => sending);
    });

    [Fact]
    public Task What_the_backend_writes_the_visitor_sees_at_once() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.SendAsync("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
        await Answer.ReadHeadAsync(asked);
        foreach (var message in new[] { "data: 1\n\n", "data: 22\n\n", "data: 333\n\n" })
        {
            await backend.SendAsync(message);
            Assert.Equal(message, await Answer.ReadBodyAsync(asked, message.Length));
        }

        backend.Close();
        var rest = await Answer.ReadAsync(asked);
        Assert.Equal(("", true), (rest.Body, rest.IsWhole));
    });

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task A_body_that_ends_with_its_connection_is_whole_only_where_that_ends_in_order(bool inOrder) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask();
            var backend = await fixture.AcceptAsync();
            await backend.SendAsync("HTTP/1.1 200 OK\r\n\r\nto the ");
            await fixture.SettleAsync();
            await backend.SendAsync("end");
            await fixture.SettleAsync();
            if (inOrder)
            {
                backend.Close();
            }
            else
            {
                backend.Reset();
            }

            var answer = await Answer.ReadAsync(asked);
            Assert.Equal(("to the end", inOrder), (answer.Body, answer.IsWhole));
            if (!inOrder)
            {
                Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody), answer.Reset);
            }

            Assert.Equal(0, fixture.Context.Backends.Idle.Count);
        });

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive.", true)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive.", false)]
    [InlineData(Chunked + "5\r\nfive.\r\n", true)]
    [InlineData(Chunked + "5\r\nfive.\r\n", false)]
    [InlineData(Chunked + "5\r\nfive.\r\n0\r\nX-", true)]
    public Task A_body_that_is_cut_short_never_ends_in_order(string response, bool inOrder) => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.SendAsync(response);
        await Answer.ReadHeadAsync(asked);
        await fixture.SettleAsync();
        if (inOrder)
        {
            backend.Close();
        }
        else
        {
            backend.Reset();
        }

        var answer = await Answer.ReadAsync(asked);
        Assert.Equal("five.", answer.Body);
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody), answer.Reset);
        Assert.Equal([("backend", "closed the connection in the middle of its answer")], fixture.Events.Failed);
    });

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    [InlineData(1000)]
    public Task Chunks_come_out_as_one_body_however_they_are_torn(int step) => ExchangeFixture.RunAsync(async fixture =>
    {
        const string Text = "5\r\nhello\r\n1;ext=1\r\n \r\n05\r\nworld\r\n0\r\nX-Sum: 1\r\nConnection: x\r\nX-Two: 2\r\n\r\n";
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await backend.SendAsync(Chunked);
        for (var i = 0; i < Text.Length; i += step)
        {
            await fixture.SettleAsync();
            await backend.SendAsync(Text[i..Math.Min(i + step, Text.Length)]);
        }

        var answer = await Answer.ReadAsync(asked);
        Assert.Equal(("hello world", "X-Sum: 1|X-Two: 2", true), (answer.Body, answer.Trailers, answer.IsWhole));
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "the connection is kept");
    });

    [Theory]
    [InlineData("2\r\nok\r\n0\r\n\r\n", null, 0)]
    [InlineData("2\r\nok\r\n0\r\nA: b\r\n\r\n", "A: b", 0)]
    [InlineData("2\r\nok\r\n0\r\n\r\nmore", null, 1)]
    [InlineData("2\r\nok\r\n0\r\nA: b\r\n\r\nmore", "A: b", 1)]
    public Task Chunks_that_come_with_the_head_leave_with_it(string body, string? trailers, int surpluses) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var answer = await fixture.ExchangeAsync(Chunked + body);
            Assert.Equal(("ok", trailers, true), (answer.Body, answer.Trailers, answer.IsWhole));
            await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
            Assert.Equal((1 - surpluses, surpluses), (fixture.Context.Backends.Idle.Count, fixture.Events.Surpluses));
        });

    [Theory]
    [InlineData("", "zz\r\n", "")]
    [InlineData("3\r\nabc\r\n", "3\r\nabcX", "abcabc")]
    [InlineData("3\r\nabc\r\n", "0\r\nBad Name: 1\r\n\r\n", "abc")]
    [InlineData("3\r\nabc\r\n", "0\r\nContent-Length: 7\r\n\r\n", "abc")]
    public Task A_broken_chunk_ends_the_answer_behind_what_was_whole(string first, string then, string body) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask();
            var backend = await fixture.AcceptAsync();
            await backend.SendAsync(Chunked + first);
            await Answer.ReadHeadAsync(asked);
            await fixture.SettleAsync();
            await backend.SendAsync(then);
            var answer = await Answer.ReadAsync(asked);
            Assert.Equal(body, answer.Body);
            Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.MalformedBody), answer.Reset);
        });

    [Fact]
    public Task A_chunk_that_is_broken_with_the_head_leaves_no_head() => ExchangeFixture.RunAsync(async fixture =>
    {
        var answer = await fixture.ExchangeAsync(Chunked + "zz\r\n");
        Assert.Empty(answer.Heads);
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.MalformedBody), answer.Reset);
    });

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task A_large_body_continues_with_a_larger_buffer_and_comes_out_whole(bool chunked) => ExchangeFixture.RunAsync(async fixture =>
    {
        var piece = string.Concat(Enumerable.Range(0, 10_000).Select(static i => (char)('a' + (i % 26))));
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        var sending = SendAsync();
        var answer = await Answer.ReadAsync(asked);
        await sending;
        Assert.True(answer.IsWhole);
        Assert.Equal(string.Concat(Enumerable.Repeat(piece, 50)), answer.Body);

        async Task SendAsync()
        {
            await backend.SendAsync(chunked ? Chunked : "HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n");
            for (var i = 0; i < 50; i++)
            {
                await backend.SendAsync(chunked ? $"{piece.Length:x}\r\n{piece}\r\n" : piece);
            }

            if (chunked)
            {
                await backend.SendAsync("0\r\n\r\n");
            }
        }
    });

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task What_the_visitor_does_not_take_stays_with_the_backend(bool chunked) => ExchangeFixture.RunAsync(async fixture =>
    {
        var piece = new string('x', 16_000);
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await backend.SendAsync(chunked ? Chunked : "HTTP/1.1 200 OK\r\n\r\n");
        await Answer.ReadHeadAsync(asked);
        var pieces = 0;
        for (Task sending = Task.CompletedTask; sending.IsCompleted && pieces < 200; pieces++)
        {
            sending = backend.SendAsync(chunked ? $"{piece.Length:x}\r\n{piece}\r\n" : piece);
            await fixture.SettleAsync();
        }

        // A window of the stream, and what the connection in memory holds: not 200 pieces.
        Assert.InRange(pieces, 10, 60);
        asked.Reset(StreamResetReason.Cancel);
        asked.Release();
        await fixture.UntilAsync(() => backend.IsEnded, "the connection is ended");
    });
}
