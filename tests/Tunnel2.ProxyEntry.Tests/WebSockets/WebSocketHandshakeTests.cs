using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.WebSockets;

namespace Tunnel2.ProxyEntry.Tests.WebSockets;

public sealed class WebSocketHandshakeTests
{
    /// <summary>The example of RFC 6455 section 1.3.</summary>
    private const string Key = "dGhlIHNhbXBsZSBub25jZQ==";
    private const string Accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

    [Fact]
    public void A_key_is_16_bytes_that_differ_from_all_others()
    {
        var keys = Enumerable.Range(0, 100).Select(static _ => WebSocketHandshake.CreateKey()).ToList();
        Assert.All(keys, static key => Assert.Equal(16, Convert.FromBase64String(key).Length));
        Assert.Equal(100, keys.Distinct().Count());
    }

    [Fact]
    public void The_answer_to_a_key_is_the_one_of_the_standard() => Assert.Equal(Accept, WebSocketHandshake.Accept(Key));

    [Fact]
    public void An_answer_is_accepted_in_any_case_of_its_names_but_not_of_its_value()
    {
        Assert.True(IsAccepted(("Upgrade", "websocket"), ("Sec-WebSocket-Accept", Accept)));
        Assert.True(IsAccepted(("sec-websocket-accept", Accept), ("X-Other", "1"), ("UPGRADE", "WebSocket")));
        Assert.False(IsAccepted(("Upgrade", "websocket"), ("Sec-WebSocket-Accept", Accept.ToUpperInvariant())));
    }

    [Fact]
    public void An_answer_without_the_proof_or_with_two_or_to_another_key_or_protocol_is_not_accepted()
    {
        Assert.False(IsAccepted(("Upgrade", "websocket")));
        Assert.False(IsAccepted(("Sec-WebSocket-Accept", Accept)));
        Assert.False(IsAccepted(("Upgrade", "raw"), ("Sec-WebSocket-Accept", Accept)));
        Assert.False(IsAccepted(("Upgrade", "websocket"), ("Sec-WebSocket-Accept", "")));
        Assert.False(IsAccepted(("Upgrade", "websocket"), ("Sec-WebSocket-Accept", Accept + "=")));
        Assert.False(
            IsAccepted(("Upgrade", "websocket"), ("Sec-WebSocket-Accept", WebSocketHandshake.Accept(WebSocketHandshake.CreateKey()))));
        Assert.False(IsAccepted(("Upgrade", "websocket"), ("Sec-WebSocket-Accept", Accept), ("Sec-WebSocket-Accept", Accept)));
        Assert.False(IsAccepted(("Upgrade", "websocket"), ("Sec-WebSocket-Accept", "x"), ("Sec-WebSocket-Accept", Accept)));
    }

    private static bool IsAccepted(params (string Name, string Value)[] fields)
    {
        var buffer = new byte[1000];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginResponse(HeaderBlockFlags.Upgrade, 101, "Switching Protocols"u8);
        foreach (var (name, value) in fields)
        {
            writer.AddField(name, value);
        }

        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(buffer.AsSpan(0, writer.Complete()), out var head));
        return WebSocketHandshake.IsAccepted(head, Key);
    }
}
