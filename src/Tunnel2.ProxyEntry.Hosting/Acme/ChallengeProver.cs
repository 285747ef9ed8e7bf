using System.Buffers;
using System.Buffers.Text;
using System.Formats.Asn1;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>Shows a certificate authority that a name leads to this server. Thread-safe.</summary>
internal sealed class ChallengeProver
{
    private const string Http01 = "http-01";
    private const string TlsAlpn01 = "tls-alpn-01";
    private const string Dns01 = "dns-01";
    private const int LongestToken = 256;

    /// <summary>RFC 8737 section 6.1.</summary>
    private const string AcmeIdentifier = "1.3.6.1.5.5.7.1.31";

    private static readonly SearchValues<char> _tokenCharacters =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

    private readonly PendingChallenges _pending;
    private readonly DnsHook? _dns;
    private readonly TimeProvider _time;
    private readonly SharedChallenges? _shared;
    private readonly string _usual;

    /// <param name="settings">Which kind of challenge to use.</param>
    /// <param name="pending">Where the listeners find the answers.</param>
    /// <param name="dns">Makes TXT records, or null.</param>
    /// <param name="time">The clock.</param>
    /// <param name="shared">Shows the answers to other nodes, or null.</param>
    public ChallengeProver(
        ProxyEntrySettings settings, PendingChallenges pending, DnsHook? dns, TimeProvider time, SharedChallenges? shared = null)
    {
        _shared = shared;
        _pending = pending;
        _dns = dns;
        _time = time;
        _usual = UsualOf(settings);
    }

    /// <summary>Whether names are shown by handshakes.</summary>
    public static bool UsesTls(ProxyEntrySettings settings) => UsualOf(settings) == TlsAlpn01;

    /// <summary>The kind of challenge for a name.</summary>
    public string KindFor(string name) => name.StartsWith("*.", StringComparison.Ordinal) ? Dns01 : _usual;

    /// <summary>Shows it until the result is disposed of.</summary>
    /// <param name="kind">The kind of challenge.</param>
    /// <param name="name">The name, without the star of a wildcard.</param>
    /// <param name="token">The authority's token.</param>
    /// <param name="answer">The token with the fingerprint of the account's key.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="AcmeException">The token is not one, or the record cannot be made.</exception>
    public async Task<IAsyncDisposable> ShowAsync(
        string kind, string name, string token, string answer, CancellationToken cancellationToken)
    {
        if (token.Length is 0 or > LongestToken || token.AsSpan().ContainsAnyExcept(_tokenCharacters))
        {
            // It becomes part of a path.
            throw new AcmeException("the challenge has a token that is not base64url");
        }

        switch (kind)
        {
            case Http01:
                _pending.AddHttp(token, name, answer);
                return await ShareAsync(
                    SharedChallenges.HttpKey(name), $"{token}\n{answer}", () => _pending.RemoveHttp(token), cancellationToken)
                    .ConfigureAwait(false);
            case TlsAlpn01:
                _pending.AddTls(name, CreateCertificate(name, answer, _time.GetUtcNow()));
                return await ShareAsync(
                    SharedChallenges.TlsKey(name), answer, () => _pending.RemoveTls(name), cancellationToken).ConfigureAwait(false);
            default:
                return await (_dns ?? throw new AcmeException("a wildcard needs Tunnel2:Acme:DnsHook"))
                    .ShowAsync(
                        "_acme-challenge." + name, Base64Url.EncodeToString(SHA256.HashData(Encoding.ASCII.GetBytes(answer))),
                        cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>The authority may come to any node: the answer has to be where all of them look, before it is asked to come.</summary>
    private async Task<IAsyncDisposable> ShareAsync(string key, string value, Action end, CancellationToken cancellationToken)
    {
        if (_shared is null)
        {
            return new Shown(end);
        }

        var bytes = Encoding.ASCII.GetBytes(value);
        try
        {
            await _shared.ShowAsync(key, bytes, cancellationToken).ConfigureAwait(false);
            return new Shown(end, () => _shared.HideAsync(key, bytes));
        }
        catch (Exception exception)
        {
            end();
            if (exception is SharedUnavailableException unavailable)
            {
                throw new AcmeException($"the cluster's database is not available ({unavailable.Reason})", cause: exception);
            }

            throw;
        }
    }

    /// <summary>RFC 8737 section 3: signed by itself, for this name alone, with the digest of the answer.</summary>
    public static ServerCertificate CreateCertificate(string name, string answer, DateTimeOffset now)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=acme-tls", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(name);
        request.CertificateExtensions.Add(names.Build());
        var digest = new AsnWriter(AsnEncodingRules.DER);
        digest.WriteOctetString(SHA256.HashData(Encoding.ASCII.GetBytes(answer)));
        request.CertificateExtensions.Add(new X509Extension(AcmeIdentifier, digest.Encode(), critical: true));
        return ServerCertificate.Create(
            PemCertificate.Usable(request.CreateSelfSigned(now.AddDays(-1), now.AddDays(7))), new X509Certificate2Collection());
    }

    private static string UsualOf(ProxyEntrySettings settings) => settings.Acme.Challenge switch
    {
        AcmeChallenge.Http01 => Http01,
        AcmeChallenge.TlsAlpn01 => TlsAlpn01,
        AcmeChallenge.Dns01 => Dns01,
        _ => settings.HttpListen is null ? TlsAlpn01 : Http01,
    };

    private sealed class Shown(Action end, Func<Task>? endShared = null) : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {
            end();
            if (endShared is not null)
            {
                await endShared().ConfigureAwait(false);
            }
        }
    }
}
