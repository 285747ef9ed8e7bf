using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client.Doctor;

/// <summary>Looks at the service: whether it answers, and whether it also answers when it is called by its public host.</summary>
internal static class ServiceLook
{
    private const string Name = "service";
    private const int MostOfBody = 64 * 1024;

    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan _patienceOfBody = TimeSpan.FromSeconds(1);

    /// <summary>Asks twice, with the service's own host and with the public one.</summary>
    /// <param name="target">The service.</param>
    /// <param name="policy">Which host it will see.</param>
    /// <param name="publicHost">The public host, without a port.</param>
    /// <param name="stop">Gives up.</param>
    public static async Task<Finding> RunAsync(BackendTarget target, HostHeaderPolicy policy, string publicHost, CancellationToken stop)
    {
        if (target.PipeName is not null)
        {
            return Finding.Skipped(Name, $"{target} is a named pipe, which is not looked at");
        }

        using var limit = CancellationTokenSource.CreateLinkedTokenSource(stop);
        limit.CancelAfter(_patience);
        bool isConnected = false;
        bool wantsCertificate = false;
        try
        {
            using var client = CreateClient(target, () => isConnected = true, () => wantsCertificate = true);
            var (own, _, _) = await AskAsync(client, target.HostHeader, limit.Token);
            string asked = policy.Mode switch
            {
                HostHeaderMode.Keep => publicHost,
                HostHeaderMode.Fixed => policy.Value!,
                _ => target.HostHeader,
            };
            var (status, body, poweredBy) = await AskAsync(client, asked, limit.Token);
            if (DevServers.Recognise(status, body, publicHost) is { } known)
            {
                return Finding.Wrong(Name, $"{target} is {known.Server} and refuses the host '{asked}' ({status})", known.Remedy);
            }

            if (own < 400 && status is >= 400 and < 500)
            {
                return Finding.Warning(
                    Name, $"{target} answers its own host with {own} and '{asked}' with {status}",
                    "allow the public host in the service, or start the tunnel with --host-header rewrite");
            }

            return DevServers.Note(poweredBy, publicHost) is { } note
                ? Finding.Warning(Name, $"{target} answers ({status})", note)
                : Finding.Ok(Name, $"{target} answers ({status})");
        }
        catch (OperationCanceledException) when (!stop.IsCancellationRequested)
        {
            return isConnected
                ? Finding.Warning(
                    Name, $"{target} takes connections and did not answer within {_patience.TotalSeconds:0} s", "look at the service's log")
                : Finding.Wrong(
                    Name, $"{target} took no connection within {_patience.TotalSeconds:0} s", "start the service, or correct its address");
        }
        catch (HttpRequestException exception)
        {
            return !isConnected && exception.InnerException is SocketException unconnected
                ? NotConnected(target, unconnected)
                : wantsCertificate
                ? Finding.Wrong(
                    Name, $"{target} asks its clients for a certificate, and the agent has none: {HttpFailure.Reason(exception)}",
                    "let the service take connections of this machine without one; or use 'tunnel2 tls', so that visitors show it theirs")
                : Finding.Wrong(
                    Name, $"{target} does not answer as HTTP: {HttpFailure.Reason(exception)}",
                    target.IsHttps
                        ? "does it speak plain HTTP? Then write http://"
                        : "does it speak TLS? Then write https://; if it is no HTTP: 'tunnel2 tcp'");
        }
    }

    /// <summary>Of a socket that is not there the system says that its address is not available.</summary>
    private static Finding NotConnected(BackendTarget target, SocketException exception) => exception.SocketErrorCode switch
    {
        _ when target.SocketPath is not null =>
            Finding.Wrong(Name, $"nothing listens at {target}", "start the service, or correct the path"),
        SocketError.ConnectionRefused => Finding.Wrong(Name, $"nothing listens at {target}", "start the service, or correct the port"),
        SocketError.HostNotFound or SocketError.NoData or SocketError.TryAgain =>
            Finding.Wrong(Name, $"'{target.Host}' has no address ({exception.Message})", "correct the service's host, or the resolver"),
        _ => Finding.Wrong(Name, $"{target} cannot be reached: {exception.Message}", "start the service, or correct its address"),
    };

    private static HttpClient CreateClient(BackendTarget target, Action connected, Action askedForCertificate) => new(new SocketsHttpHandler
    {
        UseProxy = false,
        AllowAutoRedirect = false,
        UseCookies = false,
        SslOptions =
        {
            // As the agent does: on this machine no certificate is asked for.
            RemoteCertificateValidationCallback = (_, _, _, errors) =>
                errors == SslPolicyErrors.None || TlsOptionsParser.IsThisMachine(target.Host),
            LocalCertificateSelectionCallback = (_, _, _, ofService, _) =>
            {
                // It is called once before the handshake in any case.
                if (ofService is not null)
                {
                    askedForCertificate();
                }

                return null!;
            },
        },
        ConnectCallback = async (_, cancellationToken) =>
        {
            var socket = target.SocketPath is null
                ? new Socket(SocketType.Stream, ProtocolType.Tcp)
                : new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            try
            {
                if (target.SocketPath is { } path)
                {
                    await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), cancellationToken);
                }
                else
                {
                    // A port alone means both addresses of this machine.
                    string host = target.TriesIPv6Loopback ? "localhost" : target.Host;
                    await socket.ConnectAsync(
                        await Dns.GetHostAddressesAsync(host, cancellationToken), target.Port, cancellationToken);
                }

                connected();
                return new NetworkStream(socket, ownsSocket: true);
            }
            catch
            {
                socket.Dispose();
                throw;
            }
        },
    })
    {
        BaseAddress = new Uri($"{(target.IsHttps ? "https" : "http")}://{target.HostHeader}/"),
        Timeout = Timeout.InfiniteTimeSpan,
    };

    private static async Task<(int Status, string Body, string? PoweredBy)> AskAsync(
        HttpClient client, string host, CancellationToken cancellationToken)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Host = host;
        using var answer = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, cancellationToken);
        byte[] beginning = new byte[MostOfBody];
        await using Stream body = await answer.Content.ReadAsStreamAsync(cancellationToken);
        int length = 0;
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(_patienceOfBody);
        try
        {
            while (length < beginning.Length && await body.ReadAsync(beginning.AsMemory(length), limit.Token) is > 0 and var count)
            {
                length += count;
            }
        }
        catch (Exception exception)
            when (exception is IOException or OperationCanceledException && !cancellationToken.IsCancellationRequested)
        {
            // A body without end, or a cut one: the head has said enough.
        }

        string? poweredBy = answer.Headers.TryGetValues("X-Powered-By", out var values) ? values.FirstOrDefault() : null;
        return ((int)answer.StatusCode, Encoding.UTF8.GetString(beginning, 0, length), poweredBy);
    }
}
