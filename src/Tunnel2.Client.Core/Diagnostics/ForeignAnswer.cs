using System.Net.Sockets;
using System.Text;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Diagnostics;

/// <summary>Finds out what answers where a Tunnel2 server was expected, so that a person knows what to change.</summary>
internal static class ForeignAnswer
{
    private const int MaxAnswer = 4096;
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(2);

    /// <summary>Reads from the first bytes what answers; it asks an HTTP server more, with one request that does nothing.</summary>
    /// <param name="server">Where the agent had connected to.</param>
    /// <param name="firstBytes">What came in answer to HELLO.</param>
    /// <param name="cancellationToken">Gives up asking.</param>
    public static async Task<ConnectFailure> DescribeAsync(
        ServerEndpoint server, ReadOnlyMemory<byte> firstBytes, CancellationToken cancellationToken)
    {
        ConnectFailureReason reason = FromBytes(firstBytes.Span);
        return reason == ConnectFailureReason.HttpServer
            ? FromHttp(server, await AskAsync(server, cancellationToken).ConfigureAwait(false))
            : ConnectFailure.Create(server, reason, reason == ConnectFailureReason.NotTunnel2 ? Banner(firstBytes.Span) : null);
    }

    /// <summary>What kind of peer begins like that.</summary>
    public static ConnectFailureReason FromBytes(ReadOnlySpan<byte> first) => first switch
    {
        _ when first.StartsWith("HTTP/"u8) => ConnectFailureReason.HttpServer,
        _ when FirstBytes.AreTls(first) => ConnectFailureReason.SpeaksTls,
        _ => ConnectFailureReason.NotTunnel2,
    };

    /// <summary>Reads from the head of an HTTP answer what answers.</summary>
    public static ConnectFailure FromHttp(ServerEndpoint server, string head)
    {
        // Only ProxyEntry answers with this field, and no backend can: it is the public port.
        if (Field(head, "Tunnel2-Error") is not null)
        {
            return ConnectFailure.Create(server, ConnectFailureReason.PublicPort);
        }

        string? via = Field(head, "Via")
            ?? Field(head, "X-Squid-Error")
            ?? (head.StartsWith("HTTP/1.1 407", StringComparison.Ordinal) ? "407" : null);
        return via is not null
            ? ConnectFailure.Create(server, ConnectFailureReason.HttpProxy)
            : ConnectFailure.Create(server, ConnectFailureReason.HttpServer, Field(head, "Server"));
    }

    private static async Task<string> AskAsync(ServerEndpoint server, CancellationToken cancellationToken)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(_limit);
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        var buffer = new byte[MaxAnswer];
        int filled = 0;
        try
        {
            await socket.ConnectAsync(server.Host, server.Port, limit.Token).ConfigureAwait(false);
            await socket.SendAsync(
                "HEAD / HTTP/1.1\r\nHost: tunnel2.invalid\r\nConnection: close\r\n\r\n"u8.ToArray(), limit.Token).ConfigureAwait(false);
            int received;
            do
            {
                received = await socket.ReceiveAsync(buffer.AsMemory(filled), limit.Token).ConfigureAwait(false);
                filled += received;
            }
            while (received > 0 && filled < MaxAnswer && buffer.AsSpan(0, filled).IndexOf("\r\n\r\n"u8) < 0);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            // What has come so far still says something.
        }

        return Encoding.Latin1.GetString(buffer, 0, filled);
    }

    private static string? Field(string head, string name)
    {
        foreach (string line in head.Split("\r\n").Skip(1))
        {
            if (line.StartsWith(name, StringComparison.OrdinalIgnoreCase) && line.Length > name.Length && line[name.Length] == ':')
            {
                string value = line[(name.Length + 1)..].Trim();
                return value.Length > 60 ? value[..60] : value;
            }
        }

        return null;
    }

    /// <summary>What it says, when it says it in letters: SSH, SMTP and others greet.</summary>
    private static string? Banner(ReadOnlySpan<byte> first) => FirstBytes.Text(first) is { } text ? $"it begins with '{text}'" : null;
}
