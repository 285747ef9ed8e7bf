using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Tests.Exchanges;

/// <summary>Heads of responses, whole and broken, and what they say of the body and of the connection.</summary>
public sealed class ResponsePumpTests
{
    [Fact]
    public Task A_head_may_come_byte_by_byte() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        foreach (var one in "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nok")
        {
            await backend.SendAsync($"{one}");
            await fixture.SettleAsync();
        }

        var answer = await Answer.ReadAsync(asked);
        Assert.Equal(("200 OK|A: b|Content-Length: 2", "ok", true), (answer.Head, answer.Body, answer.IsWhole));
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "the connection is kept");
    });

    [Fact]
    public Task Interim_heads_go_first_and_each_by_itself() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await backend.SendAsync("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        Assert.Equal("100 Continue", await Answer.ReadHeadAsync(asked));
        Assert.Equal("103 Early Hints|Link: </a>", await Answer.ReadHeadAsync(asked));
        await backend.SendAsync("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
        var answer = await Answer.ReadAsync(asked);
        Assert.Equal(["102 Processing", "200 OK|Content-Length: 1"], answer.Heads);
        Assert.True(answer.IsWhole);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "the connection is kept");
    });

    [Theory]
    [InlineData(16, true)]
    [InlineData(17, true)]
    [InlineData(1000, true)]
    [InlineData(1001, false)]
    public Task Sixteen_interim_heads_pass_and_a_thousand_are_taken(int count, bool isWhole) => ExchangeFixture.RunAsync(async fixture =>
    {
        var interim = string.Concat(Enumerable.Repeat("HTTP/1.1 102 Processing\r\n\r\n", count));
        var answer = await fixture.ExchangeAsync(interim + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        Assert.Equal(isWhole, answer.IsWhole);
        Assert.Equal(isWhole ? 17 : 16, answer.Heads.Count);
        if (!isWhole)
        {
            Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.MalformedHead), answer.Reset);
        }
    });

    [Theory]
    [InlineData("SSH-2.0-OpenSSH_9\r\n", StreamResetDetail.MalformedHead)]
    [InlineData("HTTP/1.1 2x0 OK\r\n\r\n", StreamResetDetail.MalformedHead)]
    [InlineData("HTTP/1.1 200 OK\r\nBad Name: 1\r\n\r\n", StreamResetDetail.MalformedHead)]
    [InlineData("HTTP/1.1 102 P\r\n\r\nnonsense\r\n\r\n", StreamResetDetail.MalformedHead)]
    [InlineData("\u0015\u0003\u0001\0\u0002\u0002\u0016", StreamResetDetail.SpeaksTls)]
    [InlineData("\0\0\u0006\u0004\0\0\0\0\0\0\u0003\0\0\0\u0064", StreamResetDetail.SpeaksHttp2)]
    public Task What_is_no_HTTP_is_recognised(string response, StreamResetDetail detail) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var answer = await fixture.ExchangeAsync(response);
            Assert.Equal((StreamResetReason.BackendProtocol, detail), answer.Reset);
            Assert.Single(fixture.Events.Failed);
            Assert.Equal(0, fixture.Context.Backends.Idle.Count);
        },
        ExchangeFixture.Options with { BackendProtocol = BackendProtocol.Http1 });

    [Theory]
    [InlineData("HTTP/1.1 200", StreamResetDetail.ClosedBeforeResponse)]
    [InlineData("HTTP/1.1 102 P\r\n\r\n", StreamResetDetail.ClosedBeforeResponse)]
    public Task A_head_that_is_cut_short_is_a_failure_and_not_sent_again(
        string response, StreamResetDetail detail) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var kept = await fixture.KeepOneAsync();
            var asked = fixture.Ask();
            await kept.ReadHeadAsync();
            await kept.SendAsync(response);
            kept.Close();
            Assert.Equal((StreamResetReason.BackendProtocol, detail), (await Answer.ReadAsync(asked)).Reset);
            Assert.Equal(1, fixture.Dialled);
        });

    [Fact]
    public Task A_reset_is_an_end_like_any() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        backend.Reset();
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse), (await Answer.ReadAsync(asked)).Reset);
    });

    [Theory]
    [InlineData(20_000, true)]
    [InlineData(31_000, true)]
    [InlineData(200_000, false)]
    public Task A_head_may_be_large_and_not_without_a_limit(int length, bool isTaken) => ExchangeFixture.RunAsync(async fixture =>
    {
        var value = new string('v', length / 10);
        var fields = string.Concat(Enumerable.Range(0, 10).Select(i => $"X-{i}: {value}\r\n"));
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        var sending = backend.SendAsync($"HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nok");
        var answer = await Answer.ReadAsync(asked);
        Assert.Equal(isTaken, answer.IsWhole);
        if (isTaken)
        {
            await sending;
            Assert.Equal("ok", answer.Body);
            Assert.Contains($"|X-9: {value}|", answer.Head, StringComparison.Ordinal);
        }
        else
        {
            Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.HeadTooLarge), answer.Reset);
            await Assert.ThrowsAsync<IOException>(() => sending);
        }
    });

    [Theory]
    [InlineData("GET", "HTTP/1.1 204 No Content\r\n\r\n")]
    [InlineData("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")]
    [InlineData("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")]
    [InlineData("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]
    public Task An_answer_without_a_body_ends_with_its_head(string method, string response) => ExchangeFixture.RunAsync(async fixture =>
    {
        var answer = await fixture.ExchangeAsync(response, method);
        Assert.True(answer.IsWhole);
        Assert.Empty(answer.Body);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "the connection is kept");
    });

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")]
    [InlineData("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")]
    public Task A_connection_that_is_to_end_is_not_kept(string response) => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await backend.SendAsync(response);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
        await fixture.UntilAsync(() => backend.IsEnded, "the connection is closed");
        Assert.Equal((0, 0), (fixture.Context.Backends.Idle.Count, fixture.Events.Surpluses));
    });

    [Fact]
    public Task What_concerns_one_connection_alone_stays_at_the_agent() => ExchangeFixture.RunAsync(async fixture =>
    {
        var answer = await fixture.ExchangeAsync(
            "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Own\r\nKeep-Alive: timeout=5\r\nX-Own: 1\r\nX-A: 2\r\nContent-Length: 0\r\n"
                + "Content-Length: 0\r\n\r\n");
        Assert.Equal("200 OK|X-A: 2|Content-Length: 0", answer.Head);
    });

    [Fact]
    public Task A_switch_of_protocols_without_a_request_for_it_is_refused() => ExchangeFixture.RunAsync(async fixture =>
    {
        var answer = await fixture.ExchangeAsync("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.UnexpectedUpgrade), answer.Reset);
        Assert.Empty(answer.Heads);
    });
}
