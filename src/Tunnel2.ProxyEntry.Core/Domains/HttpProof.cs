using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Domains;

/// <summary>
/// Fetches a page of a domain that an agent claims, from the server that has the domain now. The call is bounded in time and size, leads to
/// no other host, and goes to the addresses that were checked: so no agent makes the server call machines of its own network. Thread-safe.
/// </summary>
internal sealed class HttpProof : IDisposable
{
    /// <summary>The begin of the path.</summary>
    public const string Path = "/.well-known/tunnel2-challenge/";

    /// <summary>How many bytes the page may have.</summary>
    public const int MaxBody = 1024;

    /// <summary>How many redirects are followed, all of them at the same host.</summary>
    public const int MostRedirects = 3;

    private const int UsualPort = 80;
    private const int MostAddresses = 4;

    private readonly bool _mayBePrivate;
    private readonly int _port;
    private readonly TimeProvider _time;
    private readonly Func<string, CancellationToken, Task<IPAddress[]>> _resolve;
    private readonly HttpClient _http;

    public HttpProof(ProxyEntrySettings settings, TimeProvider time)
        : this(
            settings.Domains.HttpProof == HttpProofMode.Any,
            time,
            static (host, stop) => Dns.GetHostAddressesAsync(host, stop),
            UsualPort)
    {
    }

    /// <param name="mayBePrivate">Whether addresses may be called that are not public.</param>
    /// <param name="time">The clock.</param>
    /// <param name="resolve">Finds the addresses of a host.</param>
    /// <param name="port">The port that is called first.</param>
    internal HttpProof(
        bool mayBePrivate, TimeProvider time, Func<string, CancellationToken, Task<IPAddress[]>> resolve, int port)
    {
        _mayBePrivate = mayBePrivate;
        _port = port;
        _time = time;
        _resolve = resolve;

        // A connection for each call: the addresses are checked each time. A proxy of the environment would look for them itself.
        _http = new HttpClient(new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            UseCookies = false,
            UseProxy = false,
            PooledConnectionLifetime = TimeSpan.Zero,
            MaxResponseHeadersLength = 16,

            // A call that is given up leaves its connection to be made.
            ConnectTimeout = DomainProofs.Limit,
            ConnectCallback = ConnectAsync,
        })
        {
            Timeout = Timeout.InfiniteTimeSpan,
        };
        _http.DefaultRequestHeaders.UserAgent.ParseAdd("tunnel2-entry");
    }

    /// <summary>Whether a page of a domain has a text and nothing else.</summary>
    /// <param name="domain">The domain, without a wildcard.</param>
    /// <param name="token">The end of the path: visible ASCII without a slash.</param>
    /// <param name="text">The text.</param>
    /// <param name="time">How long it may take in all: addresses, connections, redirects and the page.</param>
    /// <param name="stop">Gives up.</param>
    /// <returns>False too where nothing answers in time: the agent learns no more of the network.</returns>
    public async Task<bool> HasAsync(string domain, string token, string text, TimeSpan time, CancellationToken stop)
    {
        if (time <= TimeSpan.Zero)
        {
            return false;
        }

        using var limit = new CancellationTokenSource(time, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        try
        {
            return await FindAsync(new UriBuilder(Uri.UriSchemeHttp, domain, _port, Path + token).Uri, text, either.Token)
                .ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is HttpRequestException or IOException or OperationCanceledException)
        {
            stop.ThrowIfCancellationRequested();
            return false;
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _http.Dispose();

    private async Task<bool> FindAsync(Uri address, string text, CancellationToken stop)
    {
        var host = address.IdnHost;
        for (var redirects = 0; ; redirects++)
        {
            using var response = await _http.GetAsync(address, HttpCompletionOption.ResponseHeadersRead, stop).ConfigureAwait(false);
            if (response.StatusCode == HttpStatusCode.OK)
            {
                return await ReadAsync(response.Content, stop).ConfigureAwait(false) is { } page
                    && page.Trim() == text;
            }

            // Many sites lead from http to https; another host, or another port, is not the domain.
            if ((int)response.StatusCode is not (301 or 302 or 303 or 307 or 308) || response.Headers.Location is not { } location
                || redirects == MostRedirects)
            {
                return false;
            }

            if (!Uri.TryCreate(address, location, out var next)
                || !next.IdnHost.Equals(host, StringComparison.OrdinalIgnoreCase)
                || next.UserInfo.Length > 0
                || !(next.Scheme == Uri.UriSchemeHttp ? next.Port == _port : next.Scheme == Uri.UriSchemeHttps && next.IsDefaultPort))
            {
                return false;
            }

            address = next;
        }
    }

    /// <summary>The page; null: it is too long.</summary>
    private static async Task<string?> ReadAsync(HttpContent content, CancellationToken stop)
    {
        var stream = await content.ReadAsStreamAsync(stop).ConfigureAwait(false);
        await using (stream.ConfigureAwait(false))
        {
            var buffer = new byte[MaxBody + 1];
            var length = await stream.ReadAtLeastAsync(buffer, buffer.Length, throwOnEndOfStream: false, stop).ConfigureAwait(false);
            return length > MaxBody ? null : Encoding.Latin1.GetString(buffer, 0, length);
        }
    }

    /// <summary>Connects to an address that was found to be allowed: a second look-up could find another one.</summary>
    private async ValueTask<Stream> ConnectAsync(SocketsHttpConnectionContext context, CancellationToken stop)
    {
        // The system's look-up cannot be stopped once it runs; what it finds later counts no more.
        var looking = _resolve(context.DnsEndPoint.Host, stop);
        _ = looking.ContinueWith(
            static late => _ = late.Exception, CancellationToken.None, TaskContinuationOptions.OnlyOnFaulted, TaskScheduler.Default);
        var addresses = await looking.WaitAsync(stop).ConfigureAwait(false);
        Exception? last = null;
        foreach (var address in addresses.Where(address => _mayBePrivate || PublicNetworks.Has(address)).Take(MostAddresses))
        {
            var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            try
            {
                await socket.ConnectAsync(new IPEndPoint(address, context.DnsEndPoint.Port), stop).ConfigureAwait(false);
                return new NetworkStream(socket, ownsSocket: true);
            }
            catch (Exception exception) when (exception is SocketException or OperationCanceledException)
            {
                socket.Dispose();
                stop.ThrowIfCancellationRequested();
                last = exception;
            }
        }

        throw new IOException("No address of the domain can be called.", last);
    }
}
