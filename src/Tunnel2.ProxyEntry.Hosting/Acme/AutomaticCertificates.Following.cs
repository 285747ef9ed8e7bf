using System.Security.Cryptography;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Acme;

/// <content>
/// The certificates of a cluster: the database has them, with the account, the failures and the orders of all nodes, and the folder is this
/// node's copy.
/// </content>
internal sealed partial class AutomaticCertificates : ISharedContent
{
    private volatile string? _accountTrouble;
    private volatile bool _isAccountMissing;

    /// <inheritdoc/>
    IReadOnlyList<SharedDocument> ISharedContent.Own()
    {
        lock (_gate)
        {
            List<SharedDocument?> own = [_sharing!.Seal(AcmeSharing.Account, _orderer.Key.ExportPem()), AcmeSharing.Write(_limits.Pace)];
            own.AddRange(
                _store.LoadCertificates().Where(one => _certificates.ContainsKey(one.Name))
                    .Select(one => _sharing.Seal(AcmeSharing.CertificateOf(one.Name), one.Pem)));
            own.AddRange(_limits.Failures.Select(static one => AcmeSharing.Write(one.Key, one.Value)));
            own.AddRange(_certificates.ToArray()
                .Where(static one => one.Value.Window is not null)
                .Select(static one => AcmeSharing.Write(one.Key, one.Value.Window!)));
            return [.. own.OfType<SharedDocument>().Take(AcmeSharing.Most)];
        }
    }

    /// <inheritdoc/>
    int ISharedContent.Follow(SharedChanges changes)
    {
        _limits.ForgetPostponed();
        if (!changes.IsEmpty)
        {
            var followed = new List<NamedCertificate>();
            lock (_gate)
            {
                if (changes.IsFirst)
                {
                    BeginUnsynchronized(changes);
                }

                foreach (var key in changes.Gone)
                {
                    DropUnsynchronized(key);
                }

                foreach (var document in changes.Put)
                {
                    FollowUnsynchronized(document, followed);
                }

                Build();
            }

            foreach (var named in followed)
            {
                ProxyEntryLog.CertificateOfOtherNode(_logger, named.Source, named.Certificate.Until);
            }
        }

        if (_isAccountMissing || !_unshared.IsEmpty)
        {
            OnTimer();
        }

        return 0;
    }

    /// <summary>What this node had before is gone, if the database does not have it.</summary>
    private void BeginUnsynchronized(SharedChanges changes)
    {
        var kept = changes.Put.Select(static document => document.Key).ToHashSet(StringComparer.Ordinal);
        _isAccountMissing = true;
        _limits.ForgetFailures();
        _limits.Follow(null);
        foreach (var key in _certificates.Keys.Select(AcmeSharing.CertificateOf).Where(key => !kept.Contains(key)))
        {
            DropUnsynchronized(key);
        }
    }

    private void DropUnsynchronized(string key)
    {
        if (key == AcmeSharing.Account)
        {
            _isAccountMissing = true;
        }
        else if (key == AcmeSharing.Limits)
        {
            _limits.Follow(null);
        }
        else if (AcmeSharing.FailureIn(key) is { } failed)
        {
            _limits.Follow(failed, null);
        }
        else if (AcmeSharing.CertificateIn(key) is { } name && !_unshared.ContainsKey(name))
        {
            _certificates.TryRemove(name, out _);
            _store.Delete(name);
        }
    }

    private void FollowUnsynchronized(SharedDocument document, List<NamedCertificate> followed)
    {
        if (document.Key == AcmeSharing.Account)
        {
            FollowAccountUnsynchronized(document);
        }
        else if (document.Key == AcmeSharing.Limits)
        {
            _limits.Follow(AcmeSharing.ReadPace(document) ?? _limits.Pace with { Version = document.Version });
        }
        else if (AcmeSharing.FailureIn(document.Key) is { } failed)
        {
            _limits.Follow(failed, AcmeSharing.ReadFailure(document));
        }
        else if (AcmeSharing.CertificateIn(document.Key) is { } name)
        {
            FollowCertificateUnsynchronized(name, document, followed);
        }
        else if (AcmeSharing.WindowIn(document.Key) is { } renewed && AcmeSharing.ReadWindow(document) is { } window
            && _certificates.TryGetValue(renewed, out var one) && one.Id == window.Id)
        {
            one.Follow(window);
        }
    }

    private void FollowAccountUnsynchronized(SharedDocument document)
    {
        _isAccountMissing = false;
        try
        {
            if (_sharing!.Open(document) is not { } pem)
            {
                _accountTrouble = "the cluster's account cannot be opened with this node's secret (Cluster:Secret)";
                ProxyEntryLog.SharedCertificateRefused(_logger, document.Key, "it cannot be opened with this node's Cluster:Secret");
                return;
            }

            if (pem != _orderer.Key.ExportPem())
            {
                // The one before may be signing now. It is for the collector.
                _orderer = CreateOrderer(AcmeKey.FromPem(pem));
                _store.SaveKey(pem);
            }

            _accountTrouble = null;
        }
        catch (Exception exception) when (exception is CryptographicException or ArgumentException)
        {
            _accountTrouble = "the cluster's account has a key that cannot be used";
            ProxyEntryLog.SharedCertificateRefused(_logger, document.Key, exception.Message.ReplaceLineEndings(" "));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            _accountTrouble = null;
            SharingLog.SharedCopyNotKept(_logger, _sharing!.Kind, _store.Folder, exception.Message);
        }
    }

    private void FollowCertificateUnsynchronized(string name, SharedDocument document, List<NamedCertificate> followed)
    {
        if (_unshared.ContainsKey(name))
        {
            // This node's is newer, and goes to the database with the next look.
            return;
        }

        try
        {
            var pem = _sharing!.Open(document) ?? throw new CryptographicException("it cannot be opened with this node's Cluster:Secret");
            var named = NamedCertificate.Load(name, pem, pem);
            if (!named.Names.Contains(name))
            {
                throw new CryptographicException("it is for other names");
            }

            if (_certificates.TryGetValue(name, out var before)
                && before.Named.Certificate.Fingerprint.Equals(named.Certificate.Fingerprint))
            {
                return;
            }

            _certificates[name] = new ManagedCertificate(named, RenewalInfo.IdOf(pem));
            followed.Add(named);

            // What no other node has heard of, too. Failures of all nodes come after the certificates.
            _limits.Settle(name);
            _store.Save(name, pem);
        }
        catch (Exception exception) when (exception is CryptographicException or ArgumentException)
        {
            ProxyEntryLog.SharedCertificateRefused(_logger, document.Key, exception.Message.ReplaceLineEndings(" "));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            SharingLog.SharedCopyNotKept(_logger, _sharing!.Kind, _store.Folder, exception.Message);
        }
    }
}
