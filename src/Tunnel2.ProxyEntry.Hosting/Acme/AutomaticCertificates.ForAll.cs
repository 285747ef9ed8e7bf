using System.Collections.Concurrent;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Acme;

/// <content>
/// Orders of a cluster. One node works on a name. It takes the lease of the name, looks what others have done, and only then orders, or
/// completes what a node had begun that is gone.
/// </content>
internal sealed partial class AutomaticCertificates
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

    /// <summary>Why no certificate may be ordered now; null: nothing is in the way.</summary>
    private string? SharedTrouble => _copy?.Trouble is { } trouble
        ? $"the cluster's database is not available ({trouble})"
        : _accountTrouble;

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
            var (outcome, _) = await _copy.RemoveAsync(AcmeSharing.CertificateOf(name), _stop.Token).ConfigureAwait(false);
            if (outcome == SharedOutcome.Missing)
            {
                lock (_gate)
                {
                    DropUnsynchronized(AcmeSharing.CertificateOf(name));
                    Build();
                }
            }
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
            || (isForced ? before is not null && _time.GetUtcNow() < before.RenewAt : !isDue || !_limits.MayTry(name)))
        {
            return;
        }

        using var either = CancellationTokenSource.CreateLinkedTokenSource(lost, _stop.Token);
        try
        {
            if (await ContinueOrBeginAsync(name, before, either.Token).ConfigureAwait(false) is not { } issued)
            {
                return;
            }

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

    /// <summary>An order that is continued was counted when it was begun.</summary>
    /// <returns>Null: there is no place for an order.</returns>
    private async Task<IssuedCertificate?> ContinueOrBeginAsync(
        string name, ManagedCertificate? before, CancellationToken cancellationToken)
    {
        var order = _orderer.Order;
        var url = await _sharing!.FindOrderAsync(name, cancellationToken).ConfigureAwait(false);
        var isOver = false;
        try
        {
            var issued = url is null ? null : await order.TryContinueAsync(name, url, cancellationToken).ConfigureAwait(false);
            if (issued is null && await TryCountOrderAsync(name, before is null).ConfigureAwait(false))
            {
                issued = await order.RunAsync(
                    name, before?.Id, cancellationToken, begun => _sharing.NoteOrderAsync(name, url = begun, cancellationToken))
                    .ConfigureAwait(false);
            }

            isOver = true;
            return issued;
        }
        catch (AcmeException exception)
        {
            // An authority that does not work now may complete it later.
            isOver = !exception.IsOfServer;
            throw;
        }
        finally
        {
            if (isOver && url is not null)
            {
                await _sharing.ForgetOrderAsync(name, url).ConfigureAwait(false);
            }
        }
    }

    private async Task FailForAllAsync(string name, AcmeException failed)
    {
        _limits.OnFailed(name, failed);
        if (_limits.Find(name) is { } failure)
        {
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
        for (var tries = 0; tries < MostTries; tries++)
        {
            // Not what this node knows by itself: that is ahead of it.
            var known = _limits.Followed;
            if ((known?.PausedUntil, known?.ServerFailures) == (pace.PausedUntil, pace.ServerFailures)
                || await TryShareAsync(pace with { Orders = known?.Orders ?? pace.Orders, Version = known?.Version ?? 0 })
                    .ConfigureAwait(false))
            {
                return;
            }
        }
    }

    /// <summary>Takes a place of this hour for an order, of those of all nodes.</summary>
    private async Task<bool> TryCountOrderAsync(string name, bool isNew)
    {
        var isListed = _listed.Contains(name);
        var owner = isListed || !isNew ? null : await FindOwnerAsync(name).ConfigureAwait(false);
        for (var tries = 0; tries < MostTries; tries++)
        {
            _limits.Forget(_listed.Contains);
            if (_limits.TryOrder(name, _certificates.Count, isNew, isListed, owner) is not { } counted)
            {
                return false;
            }

            if (await TryShareAsync(counted).ConfigureAwait(false))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>False: another node has counted at the same time. Its number is known now.</summary>
    private async Task<bool> TryShareAsync(AcmePace pace)
    {
        var document = AcmeSharing.Write(pace) with { Version = pace.Version };
        var outcome = pace.Version == 0
            ? await _copy!.AddAsync(document, _stop.Token).ConfigureAwait(false)
            : (await _copy!.PutAsync(document, _stop.Token).ConfigureAwait(false)).Outcome;
        return outcome == SharedOutcome.Done;
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
