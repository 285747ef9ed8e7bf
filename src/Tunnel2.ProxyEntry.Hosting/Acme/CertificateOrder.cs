using System.Buffers.Text;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Json;
using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>Orders certificates, from the order to the checked certificate (RFC 8555 section 7.4). Used by one task at a time.</summary>
/// <param name="client">Speaks to the authority.</param>
/// <param name="prover">Shows that a name leads here.</param>
/// <param name="time">The clock.</param>
/// <param name="othersWait">Whether other names wait for this order's end; null: they never do.</param>
internal sealed class CertificateOrder(AcmeClient client, ChallengeProver prover, TimeProvider time, Func<bool>? othersWait = null)
{
    /// <summary>How long all of it may take.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromMinutes(15);

    /// <summary>
    /// How long it may take while other names wait: a name that the authority cannot decide on must not hold up those of other tunnels.
    /// </summary>
    public static readonly TimeSpan LimitBesideOthers = TimeSpan.FromMinutes(3);

    private const int MaxAuthorizations = 10;

    private static readonly TimeSpan _usualPause = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan _longestPause = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan _clockSkew = TimeSpan.FromHours(2);

    private long _began;

    /// <summary>Gets a certificate for one name.</summary>
    /// <param name="name">The name, or wildcard name, in lower case.</param>
    /// <param name="replaces">The id of the certificate that it replaces (RFC 9773 section 5), or null.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <param name="begun">Gets the address of the order, before anything else is asked for.</param>
    /// <exception cref="AcmeException">There is none; the message says why.</exception>
    public Task<IssuedCertificate> RunAsync(
        string name, string? replaces, CancellationToken cancellationToken, Func<Uri, Task>? begun = null) => LimitedAsync(
            async token =>
            {
                var (url, order) = await BeginAsync(name, replaces, token).ConfigureAwait(false);
                if (begun is not null)
                {
                    await begun(url).ConfigureAwait(false);
                }

                return await CompleteAsync(name, url, order, token).ConfigureAwait(false);
            },
            cancellationToken);

    /// <summary>Completes an order that another process of this account has begun.</summary>
    /// <param name="name">The name, or wildcard name, in lower case.</param>
    /// <param name="url">The order.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>Null: it has ended, or the authority does not want to complete it.</returns>
    /// <exception cref="AcmeException">The authority is not usable.</exception>
    public async Task<IssuedCertificate?> TryContinueAsync(string name, Uri url, CancellationToken cancellationToken)
    {
        try
        {
            return await LimitedAsync(
                async token =>
                {
                    var directory = await client.GetDirectoryAsync(token).ConfigureAwait(false);
                    if (url.Authority != directory.NewOrder.Authority)
                    {
                        return null;
                    }

                    var answer = await client.PostAsync(url, null, "the order", token).ConfigureAwait(false);
                    var order = AcmeJson.Read(answer, "order");

                    // After a request of the other process the certificate is for a key that is lost.
                    return AcmeJson.Text(order, "status") is "pending" or "ready"
                        ? await CompleteAsync(name, url, order, token).ConfigureAwait(false)
                        : null;
                },
                cancellationToken).ConfigureAwait(false);
        }
        catch (AcmeException exception) when (!exception.IsOfServer)
        {
            return null;
        }
    }

    private async Task<T> LimitedAsync<T>(Func<CancellationToken, Task<T>> run, CancellationToken cancellationToken)
    {
        _began = time.GetTimestamp();
        using var deadline = new CancellationTokenSource(Limit, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(deadline.Token, cancellationToken);
        try
        {
            return await run(either.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException exception) when (!cancellationToken.IsCancellationRequested)
        {
            throw new AcmeException($"there was no certificate after {Limit.TotalMinutes} min", cause: exception);
        }
    }

    private async Task<IssuedCertificate> CompleteAsync(string name, Uri url, JsonElement order, CancellationToken cancellationToken)
    {
        foreach (var item in AcmeJson.List(order, "authorizations", MaxAuthorizations))
        {
            var authorization = AcmeJson.TryUrl(AcmeJson.Text(item))
                ?? throw new AcmeException("the order has an authorization that is no https URL");
            await AuthorizeAsync(authorization, name, cancellationToken).ConfigureAwait(false);
        }

        order = await UntilAsync(url, "the order", "pending", cancellationToken).ConfigureAwait(false);
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        if (AcmeJson.Text(order, "status") == "ready")
        {
            var request = Base64Url.EncodeToString(CreateRequest(name, key));
            await client.PostAsync(
                AcmeJson.Url(order, "finalize"), AcmeClient.Json(json => json.WriteString("csr"u8, request)), "the certificate request",
                cancellationToken).ConfigureAwait(false);
        }

        order = await UntilAsync(url, "the order", "processing", cancellationToken, "ready").ConfigureAwait(false);

        if (AcmeJson.Text(order, "status") != "valid")
        {
            throw AcmeJson.Problem(order, "the order");
        }

        var answer = await client.PostAsync(
            AcmeJson.Url(order, "certificate"), null, "the certificate", cancellationToken).ConfigureAwait(false);
        if (answer.MediaType != "application/pem-certificate-chain")
        {
            throw new AcmeException($"the certificate is not PEM but {AcmeJson.Clean(answer.MediaType)}");
        }

        return Check(name, new IssuedCertificate(Encoding.ASCII.GetString(answer.Body), key.ExportPkcs8PrivateKeyPem()));
    }

    private async Task<(Uri Url, JsonElement Order)> BeginAsync(string name, string? replaces, CancellationToken cancellationToken)
    {
        var directory = await client.GetDirectoryAsync(cancellationToken).ConfigureAwait(false);
        AcmeResponse response;
        try
        {
            response = await client.PostAsync(
                directory.NewOrder, Payload(name, replaces), "the order", cancellationToken).ConfigureAwait(false);
        }
        catch (AcmeException exception) when (replaces is not null && !exception.IsOfServer)
        {
            // RFC 9773 section 5: the field is a help for the authority; a certificate without it is better than none.
            response = await client.PostAsync(
                directory.NewOrder, Payload(name, null), "the order", cancellationToken).ConfigureAwait(false);
        }

        var url = AcmeJson.TryUrl(response.Location?.OriginalString) ?? throw new AcmeException("the order has no https URL");
        return (url, AcmeJson.Read(response, "order"));
    }

    private static string Payload(string name, string? replaces) => AcmeClient.Json(json =>
    {
        json.WriteStartArray("identifiers"u8);
        json.WriteStartObject();
        json.WriteString("type"u8, "dns");
        json.WriteString("value"u8, name);
        json.WriteEndObject();
        json.WriteEndArray();
        if (replaces is not null)
        {
            json.WriteString("replaces"u8, replaces);
        }
    });

    private async Task AuthorizeAsync(Uri url, string name, CancellationToken cancellationToken)
    {
        var answer = await client.PostAsync(url, null, "the authorization", cancellationToken).ConfigureAwait(false);
        var authorization = AcmeJson.Read(answer, "authorization");
        var bare = name.StartsWith("*.", StringComparison.Ordinal) ? name[2..] : name;
        if (!authorization.TryGetProperty("identifier", out var identifier) || identifier.ValueKind != JsonValueKind.Object
            || !string.Equals(AcmeJson.Text(identifier, "value"), bare, StringComparison.OrdinalIgnoreCase))
        {
            throw new AcmeException("an authorization is for another name than that of the order");
        }

        if (AcmeJson.Text(authorization, "status") == "valid")
        {
            return;
        }

        var kind = prover.KindFor(name);
        var challenge = AcmeJson.List(authorization, "challenges", 20)
            .FirstOrDefault(one => one.ValueKind == JsonValueKind.Object && AcmeJson.Text(one, "type") == kind);
        if (challenge.ValueKind != JsonValueKind.Object)
        {
            throw new AcmeException($"the authority offers no {kind}");
        }

        var token = AcmeJson.Text(challenge, "token") ?? "";
        var proof = await prover.ShowAsync(kind, bare, token, client.Authorize(token), cancellationToken).ConfigureAwait(false);
        await using (proof.ConfigureAwait(false))
        {
            if (AcmeJson.Text(challenge, "status") != "processing")
            {
                // Another process of this account may have asked it to come: its visit finds this answer.
                await client.PostAsync(AcmeJson.Url(challenge, "url"), "{}", "the challenge", cancellationToken).ConfigureAwait(false);
            }

            authorization = await UntilAsync(url, "the authorization", "pending", cancellationToken).ConfigureAwait(false);
        }

        if (AcmeJson.Text(authorization, "status") != "valid")
        {
            throw AcmeJson.List(authorization, "challenges", 20)
                .Where(one => one.ValueKind == JsonValueKind.Object && AcmeJson.Text(one, "type") == kind)
                .Select(one => AcmeJson.Problem(one, $"the name ({kind})"))
                .FirstOrDefault() ?? new AcmeException($"the name ({kind}) was refused");
        }
    }

    /// <summary>Asks until the status is another one than those given.</summary>
    private async Task<JsonElement> UntilAsync(
        Uri url, string what, string status, CancellationToken cancellationToken, string? orStatus = null)
    {
        while (true)
        {
            var answer = await client.PostAsync(url, null, what, cancellationToken).ConfigureAwait(false);
            var json = AcmeJson.Read(answer, what);
            var now = AcmeJson.Text(json, "status");
            if (now != status && now != orStatus)
            {
                return json;
            }

            if (othersWait?.Invoke() is true && time.GetElapsedTime(_began) >= LimitBesideOthers)
            {
                throw new AcmeException($"{what} was not decided on after {LimitBesideOthers.TotalMinutes} min, and other names wait");
            }

            // At least a moment, even if the authority asks for less: it must not make this loop spin.
            var pause = answer.RetryAfter is { } said && said > _usualPause ? said : _usualPause;
            await Task.Delay(pause < _longestPause ? pause : _longestPause, time, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>RFC 2986. The subject is empty: the names are in the extension (RFC 9525 section 2).</summary>
    private static byte[] CreateRequest(string name, ECDsa key)
    {
        var request = new CertificateRequest(new X500DistinguishedName(""), key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(name);
        request.CertificateExtensions.Add(names.Build());
        return request.CreateSigningRequest();
    }

    private IssuedCertificate Check(string name, IssuedCertificate issued)
    {
        NamedCertificate loaded;
        try
        {
            loaded = NamedCertificate.Load(name, issued.Chain, issued.Key);
        }
        catch (Exception exception) when (exception is CryptographicException or ArgumentException)
        {
            throw new AcmeException($"the certificate cannot be used: {AcmeJson.Clean(exception.Message)}", cause: exception);
        }

        if (!loaded.Names.Contains(name))
        {
            throw new AcmeException("the certificate is for other names than that of the order");
        }

        var now = time.GetUtcNow().UtcDateTime;
        return loaded.Certificate.NotAfter <= now || loaded.Certificate.NotBefore > now + _clockSkew
            ? throw new AcmeException("the certificate is not valid now")
            : issued;
    }
}
