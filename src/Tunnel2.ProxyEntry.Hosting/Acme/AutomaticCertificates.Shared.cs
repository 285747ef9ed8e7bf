using System.Collections.Concurrent;
using System.Security.Cryptography;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Acme;

/// <content>
/// The certificates of a cluster: the database has them, with the account, the failures and the orders of all nodes, and the folder is this
/// node's copy. One node works on a name. It takes the lease of the name, looks what others have done, and only then orders.
/// </content>
internal sealed partial class AutomaticCertificates : ISharedContent
{
    /// <summary>How often a node of a cluster looks what is due: another node may have died with what it had begun.</summary>
    public static readonly TimeSpan SharedPeriod = TimeSpan.FromSeconds(10);

    private const int MostTries = 5;
    private const int MostBusy = 10_000;

    private static readonly TimeSpan _pauseWithoutDatabase = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan _pauseForOthers = AcmeLease.Life / 2;

    private readonly bool _isOfCluster;
    private readonly AcmeSharing? _sharing;
    private readonly SharedCopy? _copy;
    private readonly ISessionLocator? _locator;
    private readonly ConcurrentDictionary<string, long> _busyElsewhere = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, bool> _forced = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, IssuedCertificate> _unshared = new(StringComparer.Ordinal);
    private readonly Dictionary<string, long> _versions = new(StringComparer.Ordinal);
    private volatile string? _accountTrouble;
    private volatile bool _isAccountMissing;
    private bool _isFollowing;

    /// <summary>Why no certificate may be ordered now; null: nothing is in the way.</summary>
    private string? SharedTrouble => _copy?.Trouble is { } trouble
        ? $"the cluster's database is not available ({trouble})"
        : _accountTrouble;

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
    int ISharedContent.Apply(IReadOnlyList<SharedDocument> documents)
    {
        _limits.ForgetPostponed();
        var followed = new List<NamedCertificate>();
        lock (_gate)
        {
            var changed = documents
                .Where(document => !_versions.TryGetValue(document.Key, out var version) || version != document.Version).ToList();
            if (_isFollowing && changed.Count == 0 && documents.Count == _versions.Count)
            {
                return 0;
            }

            _isAccountMissing = !documents.Any(static document => document.Key == AcmeSharing.Account);
            foreach (var document in changed)
            {
                FollowUnsynchronized(document, followed);
            }

            FollowLimitsUnsynchronized(documents);
            DropUnsynchronized(documents);
            _isFollowing = true;
            _versions.Clear();
            foreach (var document in documents)
            {
                _versions[document.Key] = document.Version;
            }

            Build();
        }

        foreach (var named in followed)
        {
            ProxyEntryLog.CertificateOfOtherNode(_logger, named.Source, named.Certificate.Until);
        }

        if (_isAccountMissing || !_unshared.IsEmpty)
        {
            OnTimer();
        }

        return 0;
    }

    private void FollowUnsynchronized(SharedDocument document, List<NamedCertificate> followed)
    {
        if (document.Key == AcmeSharing.Account)
        {
            FollowAccountUnsynchronized(document);
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

    private void FollowLimitsUnsynchronized(IReadOnlyList<SharedDocument> documents)
    {
        var failures = new Dictionary<string, AcmeFailure>(StringComparer.Ordinal);
        AcmePace? pace = null;
        foreach (var document in documents)
        {
            if (document.Key == AcmeSharing.Limits)
            {
                pace = AcmeSharing.ReadPace(document);
            }
            else if (AcmeSharing.FailureIn(document.Key) is { } name && AcmeSharing.ReadFailure(document) is { } failure)
            {
                failures[name] = failure;
            }
        }

        _limits.Follow(pace, failures);
    }

    /// <summary>What the database no longer has is gone here too.</summary>
    private void DropUnsynchronized(IReadOnlyList<SharedDocument> documents)
    {
        var kept = documents.Select(static document => document.Key).ToHashSet(StringComparer.Ordinal);
        foreach (var name in _certificates.Keys
            .Where(name => !kept.Contains(AcmeSharing.CertificateOf(name)) && !_unshared.ContainsKey(name)))
        {
            _certificates.TryRemove(name, out _);
            _store.Delete(name);
        }
    }

    private bool IsBusyElsewhere(string name) =>
        _busyElsewhere.TryGetValue(name, out var since) && _time.GetElapsedTime(since) < _pauseForOthers && !_forced.ContainsKey(name);

    /// <summary>Not before a while: neither handshakes nor looks ask the database for it in that time.</summary>
    private void LeaveForAWhile(string name)
    {
        if (_busyElsewhere.Count >= MostBusy)
        {
            _busyElsewhere.Clear();
        }

        _busyElsewhere[name] = _time.GetTimestamp();
    }

    private void Forgive(string name)
    {
        _limits.Forgive(name);
        if (_sharing is not null)
        {
            _forced[name] = true;
        }
    }

    private async Task ForgetAsync(string name)
    {
        if (_copy is null)
        {
            _certificates.TryRemove(name, out _);
            _store.Delete(name);
            Build();
            return;
        }

        try
        {
            await _copy.RemoveAsync(AcmeSharing.WindowOf(name), _stop.Token).ConfigureAwait(false);
            await _copy.RemoveAsync(AcmeSharing.CertificateOf(name), _stop.Token).ConfigureAwait(false);
        }
        catch (SharedUnavailableException)
        {
            // The next look tries again.
        }
    }

    /// <summary>Certificates that were issued while the database was away, and an account that it lacks.</summary>
    private async Task ShareAgainAsync()
    {
        try
        {
            if (_isAccountMissing && _sharing!.Seal(AcmeSharing.Account, _orderer.Key.ExportPem()) is { } account)
            {
                await _copy!.AddAsync(account, _stop.Token).ConfigureAwait(false);
            }

            foreach (var (name, issued) in _unshared)
            {
                await ShareAsync(name, issued).ConfigureAwait(false);
            }
        }
        catch (SharedUnavailableException)
        {
            // The next look tries again.
        }
    }

    private async Task ShareAsync(string name, IssuedCertificate issued)
    {
        if (_sharing!.Seal(AcmeSharing.CertificateOf(name), issued.Pem) is { } document)
        {
            await _copy!.PutAsync(document, _stop.Token).ConfigureAwait(false);
        }

        _unshared.TryRemove(name, out _);
    }

    private async Task ObtainForAllAsync(string name)
    {
        var isForced = _forced.ContainsKey(name);
        if (!isForced && !IsDue(name, out _))
        {
            return;
        }

        if (SharedTrouble is { } trouble)
        {
            _limits.Postpone(name, trouble, _pauseWithoutDatabase);
            return;
        }

        LeaveForAWhile(name);
        try
        {
            var lease = await _sharing!.TakeAsync(name, _time, _stop.Token).ConfigureAwait(false);
            if (lease is not null)
            {
                await using (lease.ConfigureAwait(false))
                {
                    // What other nodes have done until the lease was ours.
                    await _copy!.LookAsync(_stop.Token).ConfigureAwait(false);
                    await OrderForAllAsync(name, isForced, lease.Lost).ConfigureAwait(false);
                }
            }
        }
        catch (SharedUnavailableException exception)
        {
            _limits.Postpone(name, $"the cluster's database is not available ({exception.Reason})", _pauseWithoutDatabase);
        }
        finally
        {
            _forced.TryRemove(name, out _);
        }
    }

    private async Task OrderForAllAsync(string name, bool isForced, CancellationToken lost)
    {
        var isDue = IsDue(name, out var before);
        if (_accountTrouble is not null || _isAccountMissing
            || (isForced ? before is not null && _time.GetUtcNow() < before.RenewAt : !isDue || !_limits.MayTry(name))
            || !await TryCountOrderAsync(name, before is null).ConfigureAwait(false))
        {
            return;
        }

        using var either = CancellationTokenSource.CreateLinkedTokenSource(lost, _stop.Token);
        try
        {
            var issued = await _orderer.Order.RunAsync(name, before?.Id, either.Token).ConfigureAwait(false);
            if (issued.Pem.Length > SharedDocument.LongestValue / 2)
            {
                throw new AcmeException("the certificate is too long to be shared");
            }

            _unshared[name] = issued;
            Use(name, issued);
            await ShareAsync(name, issued).ConfigureAwait(false);
            await ShareSuccessAsync(name).ConfigureAwait(false);
        }
        catch (AcmeException exception)
        {
            await FailForAllAsync(name, exception).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (lost.IsCancellationRequested && !_stop.IsCancellationRequested)
        {
            ProxyEntryLog.CertificateOrderGivenUp(
                _logger, name, "this node did not reach the cluster's database, so another one may work on it");
        }
        catch (Exception exception) when (exception is not (OperationCanceledException or SharedUnavailableException))
        {
            ProxyEntryLog.AutomaticCertificatesFault(_logger, name, exception);
            await FailForAllAsync(name, OwnFailure(exception)).ConfigureAwait(false);
        }
    }

    private async Task FailForAllAsync(string name, AcmeException failed)
    {
        _limits.OnFailed(name, failed);
        if (_limits.Find(name) is { } failure)
        {
            // The look that follows a change forgets what only this node knows.
            var pace = _limits.Pace;
            await _copy!.PutAsync(AcmeSharing.Write(name, failure), _stop.Token).ConfigureAwait(false);
            await SharePaceAsync(pace).ConfigureAwait(false);
        }
    }

    private async Task ShareSuccessAsync(string name)
    {
        var isFailing = _limits.Find(name) is not null;
        _limits.OnObtained(name);
        var pace = _limits.Pace;
        if (isFailing)
        {
            await _copy!.RemoveAsync(AcmeSharing.FailureOf(name), _stop.Token).ConfigureAwait(false);
        }

        await SharePaceAsync(pace).ConfigureAwait(false);
    }

    /// <summary>Says to all whether the authority can be asked. Orders are counted before they begin.</summary>
    private async Task SharePaceAsync(AcmePace pace)
    {
        await _copy!.LookAsync(_stop.Token).ConfigureAwait(false);
        var known = _limits.Pace;
        if ((known.PausedUntil, known.ServerFailures) != (pace.PausedUntil, pace.ServerFailures))
        {
            var document = AcmeSharing.Write(known with { PausedUntil = pace.PausedUntil, ServerFailures = pace.ServerFailures });
            await _copy.PutAsync(document, _stop.Token).ConfigureAwait(false);
        }
    }

    /// <summary>Takes a place of this hour for an order, of those of all nodes.</summary>
    private async Task<bool> TryCountOrderAsync(string name, bool isNew)
    {
        var isListed = _listed.Contains(name);
        var owner = isListed ? null : OwnerOf(name);
        for (var tries = 0; tries < MostTries; tries++)
        {
            _limits.Forget(_listed.Contains);
            if (!_limits.TryOrder(name, _certificates.Count, isNew, isListed, tries == 0 ? owner : null))
            {
                return false;
            }

            long version;
            lock (_gate)
            {
                version = _versions.GetValueOrDefault(AcmeSharing.Limits);
            }

            var document = AcmeSharing.Write(_limits.Pace) with { Version = version };
            var outcome = version == 0
                ? await _copy!.AddAsync(document, _stop.Token).ConfigureAwait(false)
                : (await _copy!.PutAsync(document, _stop.Token).ConfigureAwait(false)).Outcome;
            if (outcome == SharedOutcome.Done)
            {
                return true;
            }

            // Another node has counted one at the same time; its number is known now.
        }

        return false;
    }

    /// <summary>Asks the authority when to renew, if no other node does, and says so to all.</summary>
    private async Task AskForAllAsync(string name, ManagedCertificate one, DateTimeOffset now)
    {
        // Not in each look, if another node is at it or the database is away.
        var later = one.AskAt = now + Period;
        try
        {
            if (SharedTrouble is not null || await _sharing!.TakeAsync(name, _time, _stop.Token).ConfigureAwait(false) is not { } lease)
            {
                return;
            }

            await using (lease.ConfigureAwait(false))
            {
                await _copy!.LookAsync(_stop.Token).ConfigureAwait(false);
                if (!_certificates.TryGetValue(name, out var current) || current != one || one.AskAt != later)
                {
                    return;
                }

                await AskWhenToRenewAsync(one, now).ConfigureAwait(false);
                if (one.Window is { } window)
                {
                    await _copy.PutAsync(AcmeSharing.Write(name, window), _stop.Token).ConfigureAwait(false);
                }
            }
        }
        catch (SharedUnavailableException)
        {
            // The next look that is due tries again.
        }
    }
}
