using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// Speaks to a certificate authority (RFC 8555): directory, nonces, account, and signed requests. Used by one task at a time.
/// </summary>
internal sealed class AcmeClient
{
    /// <summary>
    /// How often a request is sent because its nonces were refused (RFC 8555 section 6.5). An order has some fifteen requests: with an
    /// authority that refuses every third nonce, one order in 50 would fail with six tries, one in 40,000 with twelve.
    /// </summary>
    private const int MaxTries = 12;

    private const string Errors = "urn:ietf:params:acme:error:";

    private static readonly TimeSpan _directoryLife = TimeSpan.FromHours(1);

    private readonly AcmeTransport _transport;
    private readonly Uri _directoryUrl;
    private readonly AcmeAccount _account;
    private readonly TimeProvider _time;
    private AcmeDirectory? _directory;
    private DateTimeOffset _directoryUntil;
    private string? _nonce;
    private Uri? _accountUrl;

    /// <param name="transport">Calls the authority.</param>
    /// <param name="directory">The address of its directory.</param>
    /// <param name="account">Who asks.</param>
    /// <param name="time">The clock.</param>
    public AcmeClient(AcmeTransport transport, Uri directory, AcmeAccount account, TimeProvider time)
    {
        _transport = transport;
        _directoryUrl = directory;
        _account = account;
        _time = time;
    }

    /// <summary>Proves a token to be ours.</summary>
    public string Authorize(string token) => _account.Key.Authorize(token);

    /// <summary>What the authority offers.</summary>
    public async Task<AcmeDirectory> GetDirectoryAsync(CancellationToken cancellationToken)
    {
        if (_directory is { } known && _time.GetUtcNow() < _directoryUntil)
        {
            return known;
        }

        var response = await _transport.SendAsync(HttpMethod.Get, _directoryUrl, null, cancellationToken).ConfigureAwait(false);
        if (response.Status != 200)
        {
            throw new AcmeException(
                AcmeJson.Problem(response, "the directory").Message, retryAfter: response.RetryAfter, isOfServer: true);
        }

        var json = AcmeJson.Read(response, "directory");
        var isBound = json.TryGetProperty("meta", out var meta) && meta.ValueKind == JsonValueKind.Object
            && meta.TryGetProperty("externalAccountRequired", out var required) && required.ValueKind == JsonValueKind.True;
        _directoryUntil = _time.GetUtcNow() + _directoryLife;
        return _directory = new AcmeDirectory(
            AcmeJson.Url(json, "newNonce"), AcmeJson.Url(json, "newAccount"), AcmeJson.Url(json, "newOrder"),
            AcmeJson.TryUrl(AcmeJson.Text(json, "renewalInfo")), isBound);
    }

    /// <summary>Sends a signed request for the account, which is made or found first.</summary>
    /// <param name="url">The address.</param>
    /// <param name="payload">JSON; null asks for what is there (POST-as-GET).</param>
    /// <param name="what">What is asked for, for messages.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="AcmeException">It was refused, or there is no answer that can be read.</exception>
    public async Task<AcmeResponse> PostAsync(Uri url, string? payload, string what, CancellationToken cancellationToken)
    {
        var account = await GetAccountAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            return await SendAsync(url, payload, account, what, cancellationToken).ConfigureAwait(false);
        }
        catch (AcmeException exception) when (exception.Type == Errors + "accountDoesNotExist")
        {
            // The authority has forgotten it: the next request makes it again.
            _accountUrl = null;
            throw;
        }
    }

    /// <summary>Asks without a signature.</summary>
    public Task<AcmeResponse> GetAsync(Uri url, CancellationToken cancellationToken) =>
        _transport.SendAsync(HttpMethod.Get, url, null, cancellationToken);

    private async Task<Uri> GetAccountAsync(CancellationToken cancellationToken)
    {
        if (_accountUrl is { } known)
        {
            return known;
        }

        var directory = await GetDirectoryAsync(cancellationToken).ConfigureAwait(false);
        if (directory.IsAccountBound && _account.Eab is null)
        {
            throw new AcmeException(
                "the authority wants an account that is known to it: set Tunnel2:Acme:EabKeyId and Tunnel2:Acme:EabKey", isOfServer: true);
        }

        var response = await SendAsync(
            directory.NewAccount, NewAccountPayload(directory.NewAccount), null, "the account", cancellationToken).ConfigureAwait(false);
        return _accountUrl = response.Location is { } location && AcmeJson.TryUrl(location.OriginalString) is { } url
            ? url
            : throw new AcmeException("the authority gives no https URL of the account", isOfServer: true);
    }

    private async Task<AcmeResponse> SendAsync(
        Uri url, string? payload, Uri? account, string what, CancellationToken cancellationToken)
    {
        for (var tries = 1; ; tries++)
        {
            var nonce = await TakeNonceAsync(cancellationToken).ConfigureAwait(false);
            var response = await _transport.SendAsync(
                HttpMethod.Post, url, Sign(url, payload, account, nonce), cancellationToken).ConfigureAwait(false);
            _nonce = response.Nonce;
            if (response.Status is >= 200 and < 300)
            {
                return response;
            }

            var problem = AcmeJson.Problem(response, what);
            if (problem.Type != Errors + "badNonce" || tries == MaxTries)
            {
                throw problem;
            }
        }
    }

    /// <summary>A nonce is good for one request.</summary>
    private async ValueTask<string> TakeNonceAsync(CancellationToken cancellationToken)
    {
        if (_nonce is { } known)
        {
            _nonce = null;
            return known;
        }

        var directory = await GetDirectoryAsync(cancellationToken).ConfigureAwait(false);
        var response = await _transport.SendAsync(HttpMethod.Head, directory.NewNonce, null, cancellationToken).ConfigureAwait(false);
        return response is { Status: >= 200 and < 300, Nonce: { } nonce }
            ? nonce
            : throw new AcmeException("the authority gives no nonce", retryAfter: response.RetryAfter, isOfServer: true);
    }

    private byte[] Sign(Uri url, string? payload, Uri? account, string nonce)
    {
        var head = Json(json =>
        {
            json.WriteString("alg"u8, "ES256");
            json.WriteString("nonce"u8, nonce);
            json.WriteString("url"u8, url.AbsoluteUri);
            if (account is null)
            {
                json.WritePropertyName("jwk"u8);
                json.WriteRawValue(_account.Key.Jwk);
            }
            else
            {
                json.WriteString("kid"u8, account.AbsoluteUri);
            }
        });
        return Encoding.ASCII.GetBytes(Jws(head, payload ?? "", _account.Key.Sign));
    }

    private string NewAccountPayload(Uri url) => Json(json =>
    {
        json.WriteBoolean("termsOfServiceAgreed"u8, true);
        if (_account.Email is { } email)
        {
            json.WriteStartArray("contact"u8);
            json.WriteStringValue("mailto:" + email);
            json.WriteEndArray();
        }

        if (_account.Eab is { } eab)
        {
            var head = Json(bound =>
            {
                bound.WriteString("alg"u8, "HS256");
                bound.WriteString("kid"u8, eab.KeyId);
                bound.WriteString("url"u8, url.AbsoluteUri);
            });
            json.WritePropertyName("externalAccountBinding"u8);
            json.WriteRawValue(Jws(
                head,
                _account.Key.Jwk,
                signed => Base64Url.EncodeToString(HMACSHA256.HashData(eab.Key, Encoding.ASCII.GetBytes(signed)))));
        }
    });

    /// <summary>RFC 7515, in the form that RFC 8555 section 6.2 wants.</summary>
    private static string Jws(string head, string payload, Func<string, string> sign)
    {
        var (first, second) = (Encode(head), Encode(payload));
        return $$"""{"protected":"{{first}}","payload":"{{second}}","signature":"{{sign($"{first}.{second}")}}"}""";
    }

    private static string Encode(string text) => Base64Url.EncodeToString(Encoding.UTF8.GetBytes(text));

    /// <summary>Writes a JSON object.</summary>
    public static string Json(Action<Utf8JsonWriter> write)
    {
        using var stream = new MemoryStream();
        using (var json = new Utf8JsonWriter(stream))
        {
            json.WriteStartObject();
            write(json);
            json.WriteEndObject();
        }

        return Encoding.UTF8.GetString(stream.ToArray());
    }
}
