using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>
/// A certificate that is read again when its files change: the uplink's, the visitors', or one for both. New connections get the new one,
/// running ones keep theirs. Files that cannot be used are logged, and the previous certificate stays in use. <see cref="Current"/> is
/// thread-safe.
/// </summary>
internal sealed class ReloadingCertificate : WatchedReload
{
    private readonly CertificateSource _source;
    private readonly CertificateUse _use;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private volatile ServerCertificate _current;

    /// <summary>Loads the certificate; throws as <see cref="CertificateSource.Load"/> does.</summary>
    /// <param name="source">The files.</param>
    /// <param name="use">Who sees the certificate; one for agents and others counts as one for agents.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="logger">Where to log.</param>
    public ReloadingCertificate(CertificateSource source, CertificateUse use, TimeProvider timeProvider, ILogger logger)
        : base(new WatchedFiles(source.Files))
    {
        _source = source;
        _use = use;
        _timeProvider = timeProvider;
        _logger = logger;
        _current = ServerCertificate.Load(source);
        WarnOfDates(_current);
    }

    public ServerCertificate Current => _current;

    /// <summary>What operators see of the one in use.</summary>
    public CertificateFacts Facts => _current.Facts;

    /// <summary>Why its files cannot take the place of the one in use; null when nothing is in their way. Any thread may ask.</summary>
    public CertificateRefusal? Refusal => Problem is { Length: > 0 } reason ? new CertificateRefusal(_source.Path, reason) : null;

    /// <inheritdoc/>
    protected override IReadOnlyList<ReloadProblem> Reload()
    {
        var before = _current;

        // The context is replaced even if the certificate is the same, because its chain may have changed.
        var loaded = _current = ServerCertificate.Load(_source);
        if (loaded.Fingerprint.Equals(before.Fingerprint))
        {
            return [];
        }

        switch (_use)
        {
            case CertificateUse.Agents:
                ProxyEntryLog.CertificateReloaded(_logger, _source.Path, loaded.Subject, loaded.Fingerprint.ToString(), loaded.Until);
                break;
            case CertificateUse.RelayClients:
                ProxyEntryLog.RelayCertificateReloaded(_logger, _source.Path, loaded.Subject, loaded.Fingerprint.ToString(), loaded.Until);
                break;
            case CertificateUse.Nodes:
                ProxyEntryLog.NodeCertificateReloaded(_logger, _source.Path, loaded.Subject, loaded.Until);
                break;
            default:
                ProxyEntryLog.PublicCertificateReloaded(_logger, _source.Path, loaded.Subject, loaded.Until);
                break;
        }

        WarnOfDates(loaded);
        return [];
    }

    /// <inheritdoc/>
    protected override void Report(ReloadProblem problem) => ProxyEntryLog.CertificateNotReloaded(_logger, _source.Path, problem.Reason);

    private void WarnOfDates(ServerCertificate certificate)
    {
        var now = _timeProvider.GetUtcNow().UtcDateTime;
        if (now >= certificate.NotBefore && now <= certificate.NotAfter)
        {
            return;
        }

        if (_use == CertificateUse.Visitors)
        {
            ProxyEntryLog.PublicCertificateNotValidNow(_logger, _source.Path, certificate.Until);
        }
        else if (_use != CertificateUse.Nodes)
        {
            ProxyEntryLog.CertificateNotValidNow(_logger, _source.Path, certificate.Until);
        }
    }
}
