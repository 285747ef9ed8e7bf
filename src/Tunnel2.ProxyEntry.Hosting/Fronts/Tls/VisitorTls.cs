using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Routing;

namespace Tunnel2.ProxyEntry.Fronts.Tls;

/// <summary>
/// TLS of the HTTPS listener. It chooses the certificate at each handshake, so the next visitor gets a renewed one. Thread-safe.
/// </summary>
internal sealed class VisitorTls
{
    /// <summary>RFC 9325 section 3.1.1: older versions are not offered, even where the system would allow them.</summary>
    private const SslProtocols Versions = SslProtocols.Tls12 | SslProtocols.Tls13;

    private static readonly SslApplicationProtocol _acmeTls = new("acme-tls/1");

    private readonly List<IReloadable> _reloadables = [];
    private readonly List<INamedCertificates> _named = [];
    private readonly IVisitorCertificates _certificates;
    private readonly NameResolver? _names;
    private readonly HandshakeTurns _turns;

    /// <summary>Loads the certificate of the settings, or finds or makes the server's own authority.</summary>
    /// <exception cref="IOException">The certificate cannot be read, or the authority cannot be written.</exception>
    public VisitorTls(
        ProxyEntrySettings settings, TimeProvider timeProvider, ILogger<VisitorTls> logger, HandshakeTurns turns,
        AutomaticCertificates? automatic = null, NameResolver? names = null)
    {
        _turns = turns;
        _names = names;
        if (settings.CertificateFolder is { } path)
        {
            var folder = new CertificateFolder(path, timeProvider, logger);
            _reloadables.Add(folder);
            _named.Add(folder);
        }

        if (automatic is not null)
        {
            _named.Add(automatic);
        }

        var others = LoadOthers(settings, timeProvider, logger);
        _certificates = _named.Count == 0 ? others : new ChosenCertificates(_named, others);
    }

    /// <summary>Loads the certificate for names without one of their own.</summary>
    [MemberNotNull(nameof(Facts))]
    private IVisitorCertificates LoadOthers(ProxyEntrySettings settings, TimeProvider timeProvider, ILogger<VisitorTls> logger)
    {
        if (settings.HttpsCertificate is not { } source)
        {
            var authority = LocalAuthority.FindOrCreate(settings.StateFolder, settings.Domain, timeProvider.GetUtcNow());
            ProxyEntryLog.AuthorityInUse(logger, settings.Domain, authority.CertificatePath);
            Facts = () => authority.Facts with { Origin = "self-made" };
            return new SelfMadeCertificates(authority, settings.Domain, timeProvider);
        }

        try
        {
            var certificate = new ReloadingCertificate(source, CertificateUse.Visitors, timeProvider, logger);
            _reloadables.Add(certificate);
            Facts = () => certificate.Facts;
            Refusal = () => certificate.Refusal;
            return new FileCertificates(certificate);
        }
        catch (Exception exception) when (exception is CryptographicException or UnauthorizedAccessException or ArgumentException)
        {
            throw new IOException($"The certificate for HTTPS cannot be used ({source.Path}): {exception.Message}", exception);
        }
    }

    /// <summary>The certificates to read again when their files change; not self-made ones.</summary>
    public IReadOnlyList<IReloadable> Reloadables => _reloadables;

    /// <summary>The certificates that are chosen by name.</summary>
    public IReadOnlyList<INamedCertificates> Named => _named;

    /// <summary>What operators see of the certificate for all other names; of the server's own authority, where it has one.</summary>
    public Func<CertificateFacts> Facts { get; private set; }

    /// <summary>Why the files of that certificate cannot take its place; null when nothing is in their way.</summary>
    public Func<CertificateRefusal?> Refusal { get; private set; } = static () => null;

    /// <summary>The options for Kestrel, which adds what the listener's versions of HTTP need.</summary>
    public TlsHandshakeCallbackOptions CreateOptions() => new() { OnConnection = OnHelloAsync };

    /// <summary>
    /// The first message of a visitor is there. What follows runs in its turn, up to the server's answer: the choice of the certificate,
    /// and then the cryptography, which .NET does inside the call that gives it the options.
    /// </summary>
    private async ValueTask<SslServerAuthenticationOptions> OnHelloAsync(TlsHandshakeCallbackContext context)
    {
        await _turns.Next((context.Connection.RemoteEndPoint as IPEndPoint)?.Address);
        if (context.Connection.Features.Get<IVisitorLinkFeature>() is { IsLost: true })
        {
            throw new IOException("The visitor has left before its turn.");
        }

        context.CancellationToken.ThrowIfCancellationRequested();
        return context.Connection.Features.Get<AcmeVisit>() is { } visit
            ? new SslServerAuthenticationOptions
            {
                EnabledSslProtocols = Versions,
                ServerCertificateContext = visit.Certificate.Context,
                ApplicationProtocols = [_acmeTls],
            }
            : Ask(context, new SslServerAuthenticationOptions
            {
                EnabledSslProtocols = Versions,
                ServerCertificateContext = _certificates.Find(context.ClientHelloInfo.ServerName),
            });
    }

    /// <summary>
    /// Asks for the visitor's certificate where the tunnel of the name wants one. Any answer is taken here, also none: what it is worth is
    /// judged for each request, and a visitor without a good one gets a page that says so.
    /// </summary>
    [SuppressMessage(
        "Security", "CA5359:Do Not Disable Certificate Validation", Justification = "A visitor's, which is judged for each request.")]
    private SslServerAuthenticationOptions Ask(TlsHandshakeCallbackContext context, SslServerAuthenticationOptions options)
    {
        if (_names is null
            || context.ClientHelloInfo.ServerName is not { Length: > 0 } name
            || _names.Resolve(new RequestAddress(name, ""), out _, out var session) is not null
            || session?.Access is not { Authorities: not null })
        {
            return options;
        }

        var certificate = new VisitorCertificate(session.Name);
        context.Connection.Features.Set(certificate);
        options.ClientCertificateRequired = true;

        // A handshake that is resumed has no chain, and may have begun before the rule.
        options.AllowTlsResume = false;

        // No look for what is missing in the visitor's chain: a stranger's certificate must not make the server call an address in it.
        options.CertificateChainPolicy = new X509ChainPolicy
        {
            RevocationMode = X509RevocationMode.NoCheck,
            DisableCertificateDownloads = true,
        };
        options.RemoteCertificateValidationCallback = (_, shown, chain, _) =>
        {
            certificate.Keep(shown, chain);
            return true;
        };
        return options;
    }
}
