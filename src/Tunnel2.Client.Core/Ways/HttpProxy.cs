using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Core.Ways;

/// <summary>
/// Asks an HTTP proxy for a tunnel to the server (CONNECT, RFC 9110 section 9.3.6), with basic authentication. The connection may be
/// encrypted.
/// </summary>
internal static class HttpProxy
{
    private const int LongestScheme = 20;

    /// <summary>Opens the tunnel: the connection leads to the server after it.</summary>
    /// <param name="transport">A connection to the proxy; the caller aborts it when the proxy takes too long.</param>
    /// <param name="proxy">The proxy.</param>
    /// <param name="server">The server.</param>
    /// <param name="way">What that port of the server is for; messages name it.</param>
    /// <returns>Why there is no tunnel; null: there is one.</returns>
    /// <exception cref="IOException">The connection failed or was aborted.</exception>
    public static async Task<ConnectFailure?> OpenAsync(
        IByteTransport transport, ProxyAddress proxy, ServerEndpoint server, UplinkWay way = UplinkWay.Direct)
    {
        await transport.SendAsync(Request(proxy, server)).ConfigureAwait(false);
        var answer = new AnswerHead();
        var status = await answer.ReadAsync(transport, KnownMethod.Connect).ConfigureAwait(false);
        return status switch
        {
            AnswerHeadStatus.Closed when answer.FirstBytes.IsEmpty =>
                Fail(ConnectFailureReason.ProxyFailed, "closed the connection without an answer"),
            AnswerHeadStatus.Closed => Fail(ConnectFailureReason.ProxyFailed, "closed the connection within its answer"),
            AnswerHeadStatus.TooLong => Fail(ConnectFailureReason.ProxyFailed, "answered with a head of more than 16 KiB or 100 fields"),
            AnswerHeadStatus.Malformed when FirstBytes.AreTls(answer.FirstBytes) => Fail(
                ConnectFailureReason.ProxyFailed, "speaks TLS at this port: write it https://"),
            AnswerHeadStatus.Malformed when answer.FirstBytes.StartsWith("HTTP/"u8) => Fail(
                ConnectFailureReason.ProxyFailed, $"broke HTTP in its answer{Beginning(answer)}"),
            AnswerHeadStatus.Malformed => Fail(
                ConnectFailureReason.ProxyFailed, $"did not answer in HTTP{Beginning(answer)}: another port may be that of the proxy"),
            _ when answer.StatusCode == 407 => Fail(ConnectFailureReason.ProxyAuthentication, Unauthenticated(proxy, answer)),
            _ when answer.StatusCode is < 200 or > 299 => Fail(
                ConnectFailureReason.ProxyRefused, $"answered {answer.StatusText} and does not connect to that port"),

            // Neither TLS nor an uplink begins with the server's side, so these bytes are the proxy's own: a page, for example.
            _ when !answer.Rest.IsEmpty => Fail(
                ConnectFailureReason.ProxyFailed, "sent more than an answer to CONNECT: it does not make a tunnel"),
            _ => null,
        };

        ConnectFailure Fail(ConnectFailureReason reason, string detail) => ConnectFailure.AtProxy(server, way, proxy, reason, detail);
    }

    private static byte[] Request(ProxyAddress proxy, ServerEndpoint server)
    {
        var request = new StringBuilder($"CONNECT {server} HTTP/1.1\r\nHost: {server}\r\nUser-Agent: tunnel2\r\n");
        if (proxy.User is not null)
        {
            var credentials = Convert.ToBase64String(Encoding.UTF8.GetBytes($"{proxy.User}:{proxy.Password}"));
            request.Append("Proxy-Authorization: Basic ").Append(credentials).Append("\r\n");
        }

        return Encoding.ASCII.GetBytes(request.Append("\r\n").ToString());
    }

    private static string Unauthenticated(ProxyAddress proxy, AnswerHead answer)
    {
        var offers = answer.Field("Proxy-Authenticate") ?? "";
        if (offers.Length > 0 && !offers.Contains("Basic", StringComparison.OrdinalIgnoreCase))
        {
            var scheme = PlainText.Clean(offers.Split(' ', ',')[0], LongestScheme);
            return $"wants authentication by {scheme}, and this agent has only Basic: a local proxy such as cntlm or px can translate";
        }

        return proxy.User is null
            ? $"wants a user and password (407): --proxy {proxy.Scheme}://user:password@host:port, better in TUNNEL2_PROXY"
            : "does not accept the user and password (407)";
    }

    private static string Beginning(AnswerHead answer) =>
        FirstBytes.Text(answer.FirstBytes) is { } text ? $" (it begins with '{text}')"
        : "";
}
