using System.Text.Json;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>
/// Fetches the keys of issuers that the settings name, over HTTPS (HTTP on this machine only). Each fetch has a deadline, a limit of bytes
/// and of redirects, none of which leads from HTTPS to HTTP. Thread-safe.
/// </summary>
internal sealed class KeyFetch : IDisposable
{
    /// <summary>How many bytes a document may have.</summary>
    public const int MaxBody = 256 * 1024;

    /// <summary>How many redirects of one document are followed.</summary>
    public const int MostRedirects = 3;

    private const int LongestMessage = 200;
    private const string DiscoveryPath = "/.well-known/openid-configuration";

    /// <summary>How long a fetch may take, with its redirects and the document that says where the keys are.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(10);

    private readonly CancellationTokenSource _stopping = new();
    private readonly HttpClient _http;
    private readonly TimeProvider _time;

    /// <param name="handler">Makes the connections; it follows no redirect. This object disposes of it.</param>
    /// <param name="time">The clock.</param>
    public KeyFetch(HttpMessageHandler handler, TimeProvider time)
    {
        _http = new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
        _http.DefaultRequestHeaders.UserAgent.ParseAdd("tunnel2-entry");
        _http.DefaultRequestHeaders.Accept.ParseAdd("application/json");
        _time = time;
    }

    /// <summary>Connections to issuers.</summary>
    public static HttpMessageHandler CreateHandler() => new SocketsHttpHandler
    {
        AllowAutoRedirect = false,
        UseCookies = false,
        ConnectTimeout = Limit,
        PooledConnectionIdleTimeout = TimeSpan.FromSeconds(30),
        MaxConnectionsPerServer = 2,
        MaxResponseHeadersLength = 32,
    };

    /// <summary>Fetches the keys of an issuer.</summary>
    /// <exception cref="KeyFetchException">There are none, or not in time.</exception>
    public async Task<KeySet> FetchAsync(TokenIssuer issuer)
    {
        using var deadline = new CancellationTokenSource(Limit, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(deadline.Token, _stopping.Token);
        try
        {
            var address = issuer.Keys ?? await DiscoverAsync(issuer, either.Token).ConfigureAwait(false);
            return KeySet.Parse(await ReadAsync(address, either.Token).ConfigureAwait(false));
        }
        catch (OperationCanceledException exception)
        {
            throw new KeyFetchException($"no answer within {Limit.TotalSeconds} s", exception);
        }
        catch (Exception exception) when (exception is HttpRequestException or IOException)
        {
            throw new KeyFetchException(PlainText.Clean(exception.GetBaseException().Message, LongestMessage), exception);
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _stopping.Cancel();
        _http.Dispose();
        _stopping.Dispose();
    }

    /// <summary>Asks the issuer where its keys are (OpenID Connect Discovery, section 4).</summary>
    private async Task<Uri> DiscoverAsync(TokenIssuer issuer, CancellationToken cancellationToken)
    {
        var document = new Uri(issuer.Name.TrimEnd('/') + DiscoveryPath);
        var bytes = await ReadAsync(document, cancellationToken).ConfigureAwait(false);
        try
        {
            using var json = JsonDocument.Parse(bytes);
            if (TextOf(json.RootElement, "issuer") != issuer.Name)
            {
                throw new KeyFetchException("its discovery document is of another issuer");
            }

            return TextOf(json.RootElement, "jwks_uri") is { } text
                && Uri.TryCreate(text, UriKind.Absolute, out var keys)
                && TokenIssuer.IsSafe(keys, mayBePlain: document.Scheme == Uri.UriSchemeHttp)
                ? keys
                : throw new KeyFetchException("its discovery document names no https address of keys");
        }
        catch (JsonException exception)
        {
            throw new KeyFetchException("its discovery document is not JSON", exception);
        }
    }

    private async Task<byte[]> ReadAsync(Uri address, CancellationToken cancellationToken)
    {
        for (var redirects = 0; ; redirects++)
        {
            using var response = await _http.GetAsync(
                address, HttpCompletionOption.ResponseHeadersRead, cancellationToken).ConfigureAwait(false);
            var status = (int)response.StatusCode;
            if (status is 301 or 302 or 303 or 307 or 308 && response.Headers.Location is { } location)
            {
                if (redirects == MostRedirects
                    || !Uri.TryCreate(address, location, out var next)
                    || !TokenIssuer.IsSafe(next, mayBePlain: address.Scheme == Uri.UriSchemeHttp))
                {
                    throw new KeyFetchException(
                        redirects == MostRedirects ? $"more than {MostRedirects} redirects" : "a redirect to an address that is not https");
                }

                address = next;
                continue;
            }

            if (status != StatusCodes.Status200OK)
            {
                throw new KeyFetchException($"status {status}");
            }

            return await ReadAsync(response.Content, cancellationToken).ConfigureAwait(false);
        }
    }

    private static async Task<byte[]> ReadAsync(HttpContent content, CancellationToken cancellationToken)
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
                    throw new KeyFetchException($"an answer is larger than {MaxBody / 1024} KiB");
                }

                all.Write(buffer, 0, read);
            }

            return all.ToArray();
        }
    }

    private static string? TextOf(JsonElement element, string name) =>
        element.ValueKind == JsonValueKind.Object && element.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.String
            ? value.GetString()
            : null;
}
