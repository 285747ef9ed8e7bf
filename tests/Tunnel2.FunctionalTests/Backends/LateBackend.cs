using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Backends;

/// <summary>
/// A backend that answers each request by its own target, and then sends what no request asked for: at once, or up to 200 ms later. Targets
/// say how: <c>/body</c>, <c>/empty</c>, <c>/chunked</c>, <c>/head</c>, <c>/204</c>, <c>/304</c>, and after that a number.
/// </summary>
internal sealed class LateBackend : IDisposable
{
    public const string Foreign = "foreign";

    private readonly Func<TimeSpan?> _delay;
    private readonly bool _answersMeanwhile;
    private readonly X509Certificate2? _certificate;

    /// <param name="delay">How late the next surplus comes; null: there is none.</param>
    /// <param name="answersMeanwhile">Whether later requests of the connection are answered before it has come.</param>
    /// <param name="usesTls">Whether it speaks TLS.</param>
    public LateBackend(Func<TimeSpan?> delay, bool answersMeanwhile = false, bool usesTls = false)
    {
        _delay = delay;
        _answersMeanwhile = answersMeanwhile;
        _certificate = usesTls ? SelfMadeCertificate.Create() : null;
    }

    /// <summary>Surplus that was sent, as far as a reader took it.</summary>
    public AsyncCounter Sent { get; } = new("surplus sent by the backend");

    /// <summary>Serves a connection.</summary>
    public async Task ServeAsync(RawConnection connection)
    {
        if (_certificate is null)
        {
            await ServeRequestsAsync(connection);
            return;
        }

        using var tls = new SslStream(new NetworkStream(connection.Socket, ownsSocket: false));
        try
        {
            await tls.AuthenticateAsServerAsync(_certificate);
        }
        catch (System.Security.Authentication.AuthenticationException exception)
        {
            throw new IOException("The agent left.", exception);
        }

        await ServeRequestsAsync(new RawConnection(connection.Socket, tls));
    }

    public void Dispose() => _certificate?.Dispose();

    private async Task ServeRequestsAsync(RawConnection connection)
    {
        using var writing = new SemaphoreSlim(1);
        var late = new List<Task>();
        try
        {
            while (true)
            {
                var head = await connection.ReadHeadAsync();
                await connection.ReadBodyAsync(head, head.Method);
                await WriteAsync(connection, writing, Answer(head));
                if (_delay() is { } delay)
                {
                    var surplus = SendLateAsync(connection, writing, delay);
                    if (!_answersMeanwhile)
                    {
                        await surplus;
                    }

                    late.Add(surplus);
                }
            }
        }
        finally
        {
            await Task.WhenAll(late).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    private async Task SendLateAsync(RawConnection connection, SemaphoreSlim writing, TimeSpan delay)
    {
        if (delay > TimeSpan.Zero)
        {
            await Task.Delay(delay);
        }

        // A whole answer, as bad as it gets: a client that takes it for one finds nothing wrong with it.
        await WriteAsync(
            connection, writing, $"HTTP/1.1 200 OK\r\nX-Target: {Foreign}\r\nContent-Length: {Foreign.Length}\r\n\r\n{Foreign}");
        Sent.Increment();
    }

    private static async Task WriteAsync(RawConnection connection, SemaphoreSlim writing, string text)
    {
        await writing.WaitAsync();
        try
        {
            await connection.WriteAsync(text);
        }
        finally
        {
            writing.Release();
        }
    }

    private static string Answer(RawHttpHead request)
    {
        var target = request.Target;
        var kind = target.Split('/')[1];
        var body = request.Method == "HEAD" ? "" : target;
        var (status, fields) = kind switch
        {
            "204" => ("204 No Content", ""),
            "304" => ("304 Not Modified", "Content-Length: 100\r\n"),
            "empty" => ("200 OK", "Content-Length: 0\r\n"),
            "chunked" => ("200 OK", "Transfer-Encoding: chunked\r\n"),
            _ => ("200 OK", string.Create(CultureInfo.InvariantCulture, $"Content-Length: {target.Length}\r\n")),
        };
        return $"HTTP/1.1 {status}\r\nX-Target: {target}\r\n{fields}\r\n" + kind switch
        {
            "204" or "304" or "empty" => "",
            "chunked" when body.Length > 0 => string.Create(CultureInfo.InvariantCulture, $"{body.Length:x}\r\n{body}\r\n0\r\n\r\n"),
            _ => body,
        };
    }
}
