using System.Text;
using Tunnel2.LoadTests.Exchanges;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Tests.Exchanges;

public sealed class HttpExchangeTests
{
    private static readonly RequestTemplate _download = new(RequestKind.Download, 20);

    private static string Body => Encoding.Latin1.GetString(PatternBytes.Window(0, 20).Span);

    public static TheoryData<string> RightAnswers =>
    [
        $"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{Body}",
        $"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{Body[..5]}\r\nf\r\n{Body[5..]}\r\n0\r\nDigest: x\r\n\r\n",
        $"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{Body}",
    ];

    [Theory]
    [MemberData(nameof(RightAnswers))]
    public void A_right_answer_counts_wherever_it_is_split(string answer)
    {
        for (var split = 0; split <= answer.Length; split++)
        {
            var exchange = Begin(_download);

            Assert.Equal(ExchangeStatus.Done, Feed(exchange, answer[..split], answer[split..]));
            Assert.True(exchange.KeepAlive);
            Assert.Equal(20, exchange.BodyBytes);
        }
    }

    [Fact]
    public void One_changed_byte_is_a_wrong_body()
    {
        for (var i = 0; i < Body.Length; i++)
        {
            var changed = $"{Body[..i]}{(char)(Body[i] ^ 1)}{Body[(i + 1)..]}";
            AssertFails(FailureKind.WrongBody, $"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{changed}");
        }
    }

    [Fact]
    public void More_bytes_than_were_asked_for_are_a_wrong_body()
    {
        AssertFails(FailureKind.WrongBody, $"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{Body}{(char)PatternBytes.At(20)}");
        AssertFails(FailureKind.WrongBody, $"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{Body}x");
    }

    [Fact]
    public void A_complete_message_with_less_than_was_asked_for_is_truncated()
    {
        AssertFails(FailureKind.Truncated, $"HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{Body[..19]}");
        AssertFails(FailureKind.Truncated, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        AssertFails(FailureKind.Truncated, $"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{Body[..5]}\r\n0\r\n\r\n");
    }

    [Theory]
    [InlineData("", FailureKindName.ClosedUnanswered)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Le", FailureKindName.Truncated)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n", FailureKindName.Truncated)]
    [InlineData("HTTP/1.1 200 OK\r\n\r\n", FailureKindName.Truncated)]
    public void An_end_in_the_middle_says_where(string begin, string kind)
    {
        var exchange = Begin(_download);
        Feed(exchange, begin);

        Assert.Equal(ExchangeStatus.Failed, exchange.ReceiveEnd());
        Assert.Equal(kind, exchange.Failure.ToString());
    }

    [Fact]
    public void A_body_that_lasts_until_the_end_of_the_connection_counts()
    {
        var exchange = Begin(_download);
        Feed(exchange, $"HTTP/1.1 200 OK\r\n\r\n{Body}");

        Assert.Equal(ExchangeStatus.Done, exchange.ReceiveEnd());
        Assert.False(exchange.KeepAlive);
    }

    [Fact]
    public void A_wrong_status_is_reported_with_the_tunnels_own_word_for_it()
    {
        var exchange = AssertFails(
            FailureKind.WrongStatus, "HTTP/1.1 503 Service Unavailable\r\nTunnel2-Error: agent-offline\r\nContent-Length: 0\r\n\r\n");

        Assert.Equal("503 agent-offline", exchange.Detail);
    }

    [Fact]
    public void What_is_not_http_is_malformed() => AssertFails(FailureKind.Malformed, "SSH-2.0-OpenSSH_9.2\r\n");

    [Fact]
    public void A_post_sends_a_body_of_its_own_and_wants_it_back()
    {
        var echo = new RequestTemplate(RequestKind.Echo, 3000);
        var (first, second) = (Sent(Begin(echo, 1)), Sent(Begin(echo, 2)));

        Assert.StartsWith("POST /echo HTTP/1.1\r\nHost: a.localhost\r\n", first, StringComparison.Ordinal);
        Assert.EndsWith(
            first[^3000..], Encoding.Latin1.GetString(PatternBytes.Window(PatternBody.StartOf(1), 3000).Span), StringComparison.Ordinal);
        Assert.NotEqual(first, second);
        Assert.Equal(ExchangeStatus.Done, Feed(Begin(echo, 1), $"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n{first[^3000..]}"));
        Assert.Equal(ExchangeStatus.Failed, Feed(Begin(echo, 1), $"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n{second[^3000..]}"));
    }

    [Fact]
    public void Events_must_come_in_sequence_and_in_full()
    {
        var events = new RequestTemplate(RequestKind.Events, 2);
        const string Head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

        Assert.Equal(ExchangeStatus.Done, End("id: 0\ndata: 17\n\nid: 1\ndata: 18\n\n"));
        Assert.Equal(ExchangeStatus.Failed, End("id: 0\ndata: 17\n\n"));
        Assert.Equal(ExchangeStatus.Failed, Feed(Begin(events), Head, "id: 0\ndata: 17\n\nid: 2\ndata: 18\n\n"));
        Assert.Equal(ExchangeStatus.Failed, Feed(Begin(events), Head, "id: 0\ndata: 17\nid: 1\n"));

        ExchangeStatus End(string body)
        {
            var exchange = Begin(events);
            Feed(exchange, Head, body);
            return exchange.ReceiveEnd();
        }
    }

    private static HttpExchange Begin(RequestTemplate request, long index = 0)
    {
        var exchange = new HttpExchange(request, RequestHeads.Make(request, ["a.localhost"], newConnectionEach: false));
        exchange.Begin(index, 0);
        return exchange;
    }

    private static HttpExchange AssertFails(FailureKind kind, string answer)
    {
        var exchange = Begin(_download);
        Assert.Equal(ExchangeStatus.Failed, Feed(exchange, answer));
        Assert.Equal(kind, exchange.Failure);
        return exchange;
    }

    private static ExchangeStatus Feed(Exchange exchange, params string[] parts) =>
        ExchangeFeeder.Feed(exchange, [.. parts.Select(Encoding.Latin1.GetBytes)]);

    private static string Sent(Exchange exchange) => Encoding.Latin1.GetString(ExchangeFeeder.Sent(exchange, pieceLength: 700));

    /// <summary>Names of <see cref="FailureKind"/>: an internal type cannot be a public method's parameter.</summary>
    private static class FailureKindName
    {
        public const string ClosedUnanswered = nameof(FailureKind.ClosedUnanswered);
        public const string Truncated = nameof(FailureKind.Truncated);
    }
}
