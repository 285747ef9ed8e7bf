using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Ways;

/// <summary>
/// A proxy in this process, HTTP with CONNECT or SOCKS 5, that connects to any address that it is asked for, and remembers it. Names that
/// end in .invalid lead to this machine: only the proxy knows that.
/// </summary>
internal sealed class TestProxy : IAsyncDisposable
{
    private readonly RawTcpServer _server;

    private TestProxy(bool isSocks, string? user, string? password, Func<int, bool>? refuses, X509Certificate2? certificate = null) =>
        _server = RawTcpServer.Start(connection => isSocks ? SocksAsync(connection, user, password)
            : certificate is null ? HttpAsync(connection, user, password, refuses)
            : HttpsAsync(connection, user, password, refuses, certificate));

    /// <summary>What it was asked to connect to.</summary>
    public ConcurrentQueue<string> Targets { get; } = new();

    public int Port => _server.Port;

    /// <param name="user">Whom it lets through; null: everyone.</param>
    /// <param name="password">That user's password.</param>
    /// <param name="refuses">The ports that it does not connect to.</param>
    public static TestProxy StartHttp(string? user = null, string? password = null, Func<int, bool>? refuses = null) =>
        new(isSocks: false, user, password, refuses);

    /// <summary>One that speaks TLS to its callers.</summary>
    /// <param name="certificate">What it shows; the caller's.</param>
    /// <param name="user">Whom it lets through; null: everyone.</param>
    /// <param name="password">That user's password.</param>
    public static TestProxy StartHttps(X509Certificate2 certificate, string? user = null, string? password = null) =>
        new(isSocks: false, user, password, null, certificate);

    public static TestProxy StartSocks(string? user = null, string? password = null) => new(isSocks: true, user, password, null);

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    private async Task HttpsAsync(
        RawConnection connection, string? user, string? password, Func<int, bool>? refuses, X509Certificate2 certificate)
    {
        await using var tls = new SslStream(new NetworkStream(connection.Socket, ownsSocket: false));
        try
        {
            await tls.AuthenticateAsServerAsync(certificate);
        }
        catch (Exception exception) when (exception is IOException or AuthenticationException)
        {
            // It does not trust this certificate, or does not speak TLS.
            return;
        }

        await using var inner = new RawConnection(connection.Socket, tls);
        await HttpAsync(inner, user, password, refuses, tls);
    }

    private async Task HttpAsync(RawConnection connection, string? user, string? password, Func<int, bool>? refuses, Stream? stream = null)
    {
        var head = await connection.ReadHeadAsync();
        Targets.Enqueue(head.Target);
        var expected = user is null ? null : "Basic " + Convert.ToBase64String(Encoding.UTF8.GetBytes($"{user}:{password}"));
        if (head["Proxy-Authorization"] != expected)
        {
            await connection.WriteAsync(
                "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n");
            return;
        }

        var colon = head.Target.LastIndexOf(':');
        var port = int.Parse(head.Target[(colon + 1)..], System.Globalization.CultureInfo.InvariantCulture);
        if (refuses?.Invoke(port) == true)
        {
            await connection.WriteAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nnever!");
            return;
        }

        await RelayAsync(
            connection, head.Target[..colon].Trim('[', ']'), port, "HTTP/1.1 200 Connection established\r\n\r\n"u8.ToArray(), stream);
    }

    private async Task SocksAsync(RawConnection connection, string? user, string? password)
    {
        var methods = await connection.ReadExactlyAsync((await connection.ReadExactlyAsync(2))[1]);
        await connection.WriteAsync(new byte[] { 5, (byte)(user is null ? 0 : methods.Contains((byte)2) ? 2 : 0xFF) });
        if (user is not null)
        {
            var name = await connection.ReadExactlyAsync((await connection.ReadExactlyAsync(2))[1]);
            var secret = await connection.ReadExactlyAsync((await connection.ReadExactlyAsync(1))[0]);
            var isGood = Encoding.UTF8.GetString(name) == user && Encoding.UTF8.GetString(secret) == password;
            await connection.WriteAsync(new byte[] { 1, (byte)(isGood ? 0 : 1) });
            if (!isGood)
            {
                return;
            }
        }

        var request = await connection.ReadExactlyAsync(4);
        var length = request[3] switch { 1 => 4, 4 => 16, _ => (await connection.ReadExactlyAsync(1))[0] };
        var address = await connection.ReadExactlyAsync(length);
        var host = request[3] == 3 ? Encoding.ASCII.GetString(address) : new IPAddress(address).ToString();
        var port = await connection.ReadExactlyAsync(2);
        Targets.Enqueue($"{host}:{(port[0] << 8) | port[1]}");
        await RelayAsync(connection, host, (port[0] << 8) | port[1], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }

    private static async Task RelayAsync(RawConnection connection, string host, int port, byte[] answer, Stream? stream = null)
    {
        using var target = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await target.ConnectAsync(host.EndsWith(".invalid", StringComparison.Ordinal) ? "127.0.0.1" : host, port);
        await connection.WriteAsync(answer);
        using var there = new NetworkStream(target);
        using var plain = new NetworkStream(connection.Socket);
        var here = stream ?? plain;
        await Task.WhenAny(CopyAsync(here, there), CopyAsync(there, here));
    }

    private static async Task CopyAsync(Stream from, Stream to)
    {
        try
        {
            await from.CopyToAsync(to);
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // One of the two has left.
        }
    }
}
