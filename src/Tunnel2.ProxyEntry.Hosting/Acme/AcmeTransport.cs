using System.Net.Http.Headers;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// Calls a certificate authority over HTTPS. Each call has a deadline and a limit of bytes; redirects are not followed. Thread-safe.
/// </summary>
internal sealed class AcmeTransport : IDisposable
{
    /// <summary>How many bytes an answer may have: many times the longest chain.</summary>
    public const int MaxBody = 1024 * 1024;

    private const int MaxHead = 32;
    private const int LongestNonce = 1024;

    /// <summary>How long a call may take, with its body.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

    private static readonly MediaTypeHeaderValue _jose = new("application/jose+json");

    private readonly HttpClient _http;
    private readonly TimeProvider _time;

    /// <param name="handler">Makes the connections; the transport disposes of it.</param>
    /// <param name="time">The clock.</param>
    public AcmeTransport(HttpMessageHandler handler, TimeProvider time)
    {
        _http = new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
        _http.DefaultRequestHeaders.UserAgent.ParseAdd("tunnel2-entry");
        _time = time;
    }

    /// <summary>Connections as the settings want them.</summary>
    public static HttpMessageHandler CreateHandler(AcmeSettings settings)
    {
        var handler = new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            UseCookies = false,
            ConnectTimeout = TimeSpan.FromSeconds(15),
            PooledConnectionIdleTimeout = TimeSpan.FromSeconds(30),
            MaxConnectionsPerServer = 2,
            MaxResponseHeadersLength = MaxHead,
        };
        if (settings.Ca is { } file)
        {
            var policy = new X509ChainPolicy
            {
                TrustMode = X509ChainTrustMode.CustomRootTrust,
                RevocationMode = X509RevocationMode.NoCheck,
            };
            policy.CustomTrustStore.AddRange(AcmeSettings.LoadAuthorities(file));
            handler.SslOptions.CertificateChainPolicy = policy;
        }

        return handler;
    }

    /// <summary>Calls the authority.</summary>
    /// <param name="method">The method.</param>
    /// <param name="url">The address.</param>
    /// <param name="body">What to send, or null.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="AcmeException">There is no answer, or not one that can be read.</exception>
    public async Task<AcmeResponse> SendAsync(HttpMethod method, Uri url, byte[]? body, CancellationToken cancellationToken)
    {
        using var deadline = new CancellationTokenSource(Limit, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(deadline.Token, cancellationToken);
        try
        {
            using var request = new HttpRequestMessage(method, url);
            if (body is not null)
            {
                request.Content = new ByteArrayContent(body);
                request.Content.Headers.ContentType = _jose;
            }

            using var response = await _http.SendAsync(
                request, HttpCompletionOption.ResponseHeadersRead, either.Token).ConfigureAwait(false);
            return new AcmeResponse(
                (int)response.StatusCode,
                response.Content.Headers.ContentType?.MediaType ?? "",
                await ReadAsync(response.Content, url, either.Token).ConfigureAwait(false),
                response.Headers.Location,
                NonceOf(response.Headers),
                WaitOf(response.Headers.RetryAfter));
        }
        catch (OperationCanceledException exception) when (!cancellationToken.IsCancellationRequested)
        {
            throw new AcmeException(
                $"{url.Host} did not answer within {Limit.TotalSeconds} s", isOfServer: true, cause: exception);
        }
        catch (Exception exception) when (exception is HttpRequestException or IOException)
        {
            throw new AcmeException(
                $"{url.Host} cannot be called: {AcmeJson.Clean(exception.GetBaseException().Message)}", isOfServer: true, cause: exception);
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _http.Dispose();

    private static async Task<byte[]> ReadAsync(HttpContent content, Uri url, CancellationToken cancellationToken)
    {
        var stream = await content.ReadAsStreamAsync(cancellationToken).ConfigureAwait(false);
        await using (stream.ConfigureAwait(false))
        {
            using var all = new MemoryStream();
            var buffer = new byte[16 * 1024];
            int read;
            while ((read = await stream.ReadAsync(buffer, cancellationToken).ConfigureAwait(false)) > 0)
            {
                if (all.Length + read > MaxBody)
                {
                    throw new AcmeException($"an answer of {url.Host} is larger than {MaxBody / 1024} KiB", isOfServer: true);
                }

                all.Write(buffer, 0, read);
            }

            return all.ToArray();
        }
    }

    private static string? NonceOf(HttpResponseHeaders headers) =>
        headers.TryGetValues("Replay-Nonce", out var values) && values.FirstOrDefault() is { Length: > 0 and <= LongestNonce } nonce
            ? nonce
            : null;

    private TimeSpan? WaitOf(RetryConditionHeaderValue? said)
    {
        var wait = said?.Delta ?? (said?.Date - _time.GetUtcNow());
        return wait < TimeSpan.Zero ? TimeSpan.Zero : wait;
    }
}
