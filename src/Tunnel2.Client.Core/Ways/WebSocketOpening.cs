using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.Client.Core.Ways;

/// <summary>Opens a WebSocket for an uplink at a server's public port (RFC 6455 section 4.1).</summary>
internal static class WebSocketOpening
{
    /// <summary>Opens it.</summary>
    /// <param name="transport">
    /// The connection, encrypted where it should be; the caller aborts it when the server takes too long. The WebSocket owns it when
    /// there is one, otherwise it stays the caller's.
    /// </param>
    /// <param name="server">The server's public address.</param>
    /// <param name="isTls">Whether the connection is encrypted.</param>
    /// <param name="timeProvider">The clock of the WebSocket's end.</param>
    /// <returns>The WebSocket, or why there is none.</returns>
    /// <exception cref="IOException">The connection failed or was aborted.</exception>
    public static async Task<(WebSocketTransport? Transport, ConnectFailure? Failure)> OpenAsync(
        IUplinkTransport transport, ServerEndpoint server, bool isTls, TimeProvider timeProvider)
    {
        var key = WebSocketKey.Create();
        await transport.SendAsync(Request(server, isTls, key)).ConfigureAwait(false);
        var answer = new AnswerHead();
        var status = await answer.ReadAsync(transport, KnownMethod.Get).ConfigureAwait(false);
        return Judge(status, answer, key) is { } problem
            ? (null, ConnectFailure.AtWebSocket(server, problem))
            : (new WebSocketTransport(transport, isClient: true, answer.Rest, timeProvider), null);
    }

    private static byte[] Request(ServerEndpoint server, bool isTls, string key)
    {
        var host = HostPort.FormatField(server.Host, server.Port, isTls ? 443 : 80);
        return Encoding.ASCII.GetBytes(
            $"GET {Encoding.ASCII.GetString(WebSocketBinding.Path)} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
            + $"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            + $"Sec-WebSocket-Protocol: {Encoding.ASCII.GetString(WebSocketBinding.Subprotocol)}\r\nUser-Agent: tunnel2\r\n\r\n");
    }

    /// <summary>A client has to check every part of the answer; a middlebox may have made any of it.</summary>
    private static string? Judge(AnswerHeadStatus status, AnswerHead answer, string key) => status switch
    {
        AnswerHeadStatus.Closed => "the connection was closed before the answer was complete",
        AnswerHeadStatus.TooLong => "the answer has a head of more than 16 KiB or 100 fields",
        AnswerHeadStatus.Malformed when FirstBytes.AreTls(answer.FirstBytes) => "the server speaks TLS there; write it wss://",
        AnswerHeadStatus.Malformed => "what answers does not speak HTTP/1.1",
        _ when answer.StatusCode != 101 => Refusal(answer),
        _ when !Has(answer, "Upgrade", "websocket") || !Has(answer, "Connection", "upgrade") =>
            "the answer switches to something else than a WebSocket",
        _ when answer.Field("Sec-WebSocket-Accept") != WebSocketKey.Accept(key) =>
            "the answer does not prove that a WebSocket server has read the request; something on the way answers in its place",
        _ when answer.Field("Sec-WebSocket-Protocol") != Encoding.ASCII.GetString(WebSocketBinding.Subprotocol) =>
            "another WebSocket server answers, or the server is older than this way",
        _ when !string.IsNullOrEmpty(answer.Field("Sec-WebSocket-Extensions")) =>
            "the answer has an extension that was not asked for; something on the way compresses",
        _ => null,
    };

    private static string Refusal(AnswerHead answer)
    {
        var says = answer.Field("Tunnel2-Error") switch
        {
            "uplink-needs-tls" => "the server takes agents of other machines only with TLS; write it wss://",
            "uplink-busy" or "draining" => "the server takes no agent at the moment",
            "uplink-handshake" => "the handshake did not arrive as it was sent; something on the way changed it",
            "uplink-refused" => "the server takes the agent for a web page; something on the way adds an Origin",
            { } => "the server does not take agents there; it is older than this way, or has Tunnel2:Uplink:WebSocket=false",
            null => "no Tunnel2 server answers there, or a reverse proxy before it passes no WebSockets on",
        };
        return $"{says} ({answer.StatusText})";
    }

    private static bool Has(AnswerHead answer, string field, string word) =>
        answer.Field(field)?.Split(',', StringSplitOptions.TrimEntries).Contains(word, StringComparer.OrdinalIgnoreCase) == true;
}
