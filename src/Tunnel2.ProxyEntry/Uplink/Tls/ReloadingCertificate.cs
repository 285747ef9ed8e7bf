using System.Security.Cryptography;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Uplink.Tls;

/// <summary>
/// The certificate of the uplink, read again when its file changes. New connections see the new one, running ones stay. Files that cannot be
/// used are logged, and the certificate before stays. <see cref="Current"/> is thread-safe.
/// </summary>
internal sealed class ReloadingCertificate : IReloadable
{
    private readonly CertificateSource _source;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly WatchedFiles _files;
    private volatile ServerCertificate _current;

    /// <summary>Loads the certificate; throws as <see cref="CertificateSource.Load"/> does.</summary>
    public ReloadingCertificate(CertificateSource source, TimeProvider timeProvider, ILogger logger)
    {
        _source = source;
        _timeProvider = timeProvider;
        _logger = logger;

        // Looked at first: what changes while it is loaded is then seen as a change.
        _files = new WatchedFiles(source.Files);
        _current = ServerCertificate.Load(source);
        WarnOfDates(_current);
    }

    public ServerCertificate Current => _current;

    /// <inheritdoc/>
    public void ReloadIfChanged()
    {
        if (!_files.HaveChanged())
        {
            return;
        }

        try
        {
            var loaded = ServerCertificate.Load(_source);
            if (loaded.Fingerprint.Equals(_current.Fingerprint))
            {
                return;
            }

            _current = loaded;
            ProxyEntryLog.CertificateReloaded(_logger, _source.Path, loaded.Subject, loaded.Fingerprint.ToString(), loaded.Until);
            WarnOfDates(loaded);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            ProxyEntryLog.CertificateNotReloaded(_logger, _source.Path, exception.Message.ReplaceLineEndings(" "));
        }
    }

    private void WarnOfDates(ServerCertificate certificate)
    {
        var now = _timeProvider.GetUtcNow().UtcDateTime;
        if (now < certificate.NotBefore || now > certificate.NotAfter)
        {
            ProxyEntryLog.CertificateNotValidNow(_logger, _source.Path, certificate.Until);
        }
    }
}
