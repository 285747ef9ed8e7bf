using System.Diagnostics.CodeAnalysis;
using System.Text;
using Tunnel2.LoadTests.Exchanges;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Tests.Exchanges;

public sealed class WebSocketExchangeTests
{
    private const int MessageBytes = 200;
    private const int ClientHeader = 8;
    private const string Accept = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ";

    private static readonly RequestTemplate _request = new(RequestKind.WebSocket, 2) { MessageBytes = MessageBytes };

    [Fact]
    public void Messages_are_sent_one_after_another_and_may_come_back_in_fragments()
    {
        var (exchange, sent) = Open();
        var first = NextMessage(exchange, ref sent);
        Assert.Empty(ExchangeFeeder.Sent(exchange, 64, sent));

        Assert.Equal(ExchangeStatus.NeedMore, ExchangeFeeder.Feed(exchange, Frame(0x02, first[..50])));
        Assert.Equal(ExchangeStatus.Send, ExchangeFeeder.Feed(exchange, Frame(0x80, first[50..])));
        var second = NextMessage(exchange, ref sent);
        Assert.NotEqual(first, second);

        Assert.Equal(ExchangeStatus.Send, ExchangeFeeder.Feed(exchange, Frame(0x82, second)));
        Assert.Equal([0x88, 0x80], ExchangeFeeder.Sent(exchange, 64, sent)[..2]);
        Assert.Equal(ExchangeStatus.Done, ExchangeFeeder.Feed(exchange, [0x88, 0x00]));
        Assert.Equal(2 * MessageBytes, exchange.BodyBytes);
    }

    [Fact]
    public void A_message_that_comes_back_changed_or_shorter_is_a_wrong_body()
    {
        var (changed, sent) = Open();
        var message = NextMessage(changed, ref sent);
        message[^1] ^= 1;
        AssertFails(changed, FailureKind.WrongBody, Frame(0x82, message));

        var (shorter, _) = Open();
        message[^1] ^= 1;
        AssertFails(shorter, FailureKind.WrongBody, Frame(0x82, message[..^1]));
    }

    [Fact]
    public void A_close_before_the_last_message_is_truncated()
    {
        var (exchange, _) = Open();
        AssertFails(exchange, FailureKind.Truncated, [0x88, 0x00]);
    }

    [Fact]
    public void A_frame_that_is_not_expected_is_malformed()
    {
        var (text, _) = Open();
        AssertFails(text, FailureKind.Malformed, [0x81, 0x01, 0x61]);
        var (masked, _) = Open();
        AssertFails(masked, FailureKind.Malformed, [0x82, 0x81, 0, 0, 0, 0, 0]);
    }

    [Fact]
    public void An_upgrade_that_is_refused_or_wrongly_accepted_fails()
    {
        AssertFails(Begin(), FailureKind.WrongStatus, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"u8.ToArray());
        AssertFails(Begin(), FailureKind.Malformed, Encoding.ASCII.GetBytes($"{Accept}AAAA\r\n\r\n"));
    }

    private static WebSocketExchange Begin()
    {
        var exchange = new WebSocketExchange(_request, RequestHeads.Make(_request, ["a.localhost"], newConnectionEach: false));
        exchange.Begin(7, 0);
        return exchange;
    }

    [SuppressMessage("Security", "CA5350", Justification = "The handshake is defined with it.")]
    private static (WebSocketExchange Exchange, long Sent) Open()
    {
        var exchange = Begin();
        var head = ExchangeFeeder.Sent(exchange, 64);
        Assert.StartsWith("GET /ws-echo HTTP/1.1\r\n", Encoding.ASCII.GetString(head), StringComparison.Ordinal);
        var accept = Convert.ToBase64String(System.Security.Cryptography.SHA1.HashData(
            Encoding.ASCII.GetBytes($"{RequestHeads.WebSocketKey}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
        Assert.Equal(ExchangeStatus.Send, ExchangeFeeder.Feed(exchange, Encoding.ASCII.GetBytes($"{Accept}{accept}\r\n\r\n")));
        return (exchange, head.Length);
    }

    private static byte[] NextMessage(WebSocketExchange exchange, ref long sent)
    {
        var frame = ExchangeFeeder.Sent(exchange, 64, sent);
        Assert.Equal(ClientHeader + MessageBytes, frame.Length);
        Assert.Equal(0x82, frame[0]);
        sent += frame.Length;
        return [.. frame[ClientHeader..].Select((value, i) => (byte)(value ^ frame[4 + (i % 4)]))];
    }

    private static byte[] Frame(byte first, byte[] payload) => payload.Length < 126
        ? [first, (byte)payload.Length, .. payload]
        : [first, 126, (byte)(payload.Length >> 8), (byte)payload.Length, .. payload];

    private static void AssertFails(WebSocketExchange exchange, FailureKind kind, byte[] bytes)
    {
        Assert.Equal(ExchangeStatus.Failed, ExchangeFeeder.Feed(exchange, bytes));
        Assert.Equal(kind, exchange.Failure);
    }
}
