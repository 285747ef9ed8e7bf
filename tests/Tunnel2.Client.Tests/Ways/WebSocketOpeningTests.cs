using System.Text;
using System.Text.RegularExpressions;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Ways;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.Client.Tests.Ways;

public sealed partial class WebSocketOpeningTests
{
    private const string Good = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n"
        + "Sec-WebSocket-Protocol: tunnel2.1\r\nSec-WebSocket-Accept: ACCEPT\r\n\r\n";

    private static readonly ServerEndpoint _server = new("tunnel.example.com", 443);

    [Fact]
    public async Task A_good_answer_counts_however_it_is_cut_and_bytes_after_it_are_the_uplinks()
    {
        for (var cut = 0; cut <= Good.Length; cut++)
        {
            await using var peer = new AnsweringPeer(Good, cut);
            var (transport, failure) = await WebSocketOpening.OpenAsync(peer, _server, isTls: true, TimeProvider.System);
            Assert.Null(failure);
            var buffer = new byte[10];
            Assert.Equal(1, await transport!.ReceiveAsync(buffer));
            Assert.Equal((byte)'a', buffer[0]);
            Assert.Equal(0, await transport.ReceiveAsync(buffer));
        }
    }

    [Theory]
    [InlineData(443, true, "tunnel.example.com")]
    [InlineData(80, false, "tunnel.example.com")]
    [InlineData(8443, true, "tunnel.example.com:8443")]
    [InlineData(8443, true, "[fe80::1]:8443", "fe80::1%eth0")]
    [InlineData(443, true, "[fe80::1]", "fe80::1%2")]
    public async Task The_request_is_a_complete_handshake(int port, bool isTls, string host, string server = "tunnel.example.com")
    {
        await using var peer = new AnsweringPeer(Good, 0);
        await WebSocketOpening.OpenAsync(peer, new ServerEndpoint(server, port), isTls, TimeProvider.System);
        Assert.StartsWith($"GET /_tunnel2/uplink HTTP/1.1\r\nHost: {host}\r\n", peer.Request);
        Assert.Contains("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tunnel2.1\r\n", peer.Request, StringComparison.Ordinal);
        Assert.DoesNotContain("Origin", peer.Request, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: tunnel2.1\r\n\r\n", "does not prove")]
    [InlineData(
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: tunnel2.1\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        "does not prove")]
    [InlineData("HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n\r\n", "something else")]
    [InlineData("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n\r\n", "older")]
    [InlineData(
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n"
        + "Sec-WebSocket-Protocol: tunnel2.1\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
        "compresses")]
    [InlineData("HTTP/1.1 403 Forbidden\r\nTunnel2-Error: uplink-needs-tls\r\n\r\n", "wss://")]
    [InlineData("HTTP/1.1 404 Not Found\r\nTunnel2-Error: unknown-host\r\n\r\n", "Uplink:WebSocket=false")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", "200 OK")]
    [InlineData("<html></html>\r\n\r\n", "does not speak HTTP")]
    [InlineData("\u0015\u0003\u0001\u0000\u0002\u0002\u0046", "speaks TLS")]
    [InlineData("", "closed before")]
    public async Task Any_other_answer_is_named(string answer, string words)
    {
        await using var peer = new AnsweringPeer(answer, 0);
        var (transport, failure) = await WebSocketOpening.OpenAsync(peer, _server, isTls: true, TimeProvider.System);
        Assert.Null(transport);
        Assert.Equal(ConnectFailureReason.WebSocketRefused, failure!.Reason);
        Assert.Contains(words, failure.Message, StringComparison.Ordinal);
    }

    /// <summary>Answers a request, ACCEPT being the right proof, and then says "a" in a message and ends.</summary>
    private sealed partial class AnsweringPeer(string answer, int cut) : IUplinkTransport
    {
        private ScriptedPeer? _answers;

        public string RemoteName => "answering";

        public string Request { get; private set; } = "";

        public ValueTask<int> ReceiveAsync(Memory<byte> buffer) => _answers!.ReceiveAsync(buffer);

        public ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
        {
            if (_answers is not null)
            {
                return default;
            }

            Request = Encoding.ASCII.GetString(buffer.Span);
            var accept = WebSocketKey.Accept(Key().Match(Request).Groups[1].Value);
            byte[] bytes = [.. Encoding.Latin1.GetBytes(answer.Replace("ACCEPT", accept, StringComparison.Ordinal))];
            byte[] all = answer == Good ? [.. bytes, 0x82, 0x01, (byte)'a', 0x88, 0x00] : bytes;
            _answers = ScriptedPeer.CutAt(all, Math.Min(cut, all.Length));
            return default;
        }

        public void ShutdownSend()
        {
        }

        public void Abort()
        {
        }

        public ValueTask DisposeAsync() => default;

        [GeneratedRegex("Sec-WebSocket-Key: (.+)\r\n")]
        private static partial Regex Key();
    }
}
