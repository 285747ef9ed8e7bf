using System.Buffers.Text;
using System.Text;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>
/// The sign-outs of all nodes of a cluster: the database has the numbers of the sessions that were ended, until no node opens them any
/// more. A sign-out does not wait for it. What it did not take is shared when it is back. Thread-safe.
/// </summary>
internal sealed class SharedSignOuts : ISharedContent, IDisposable
{
    /// <summary>What the database calls them.</summary>
    public const string SharedKind = "sign-outs";

    /// <summary>How many that are over one that is added removes: there are never more than there were sessions.</summary>
    private const int Swept = 2;

    /// <summary>How long one stays after its session: the clock of another node may be late.</summary>
    private static readonly TimeSpan _rest = TimeSpan.FromHours(2);

    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _stopping = new();
    private readonly OidcSessions _sessions;
    private readonly TimeProvider _time;
    private readonly ContainedFaults _faults;
    private readonly SharedCopy _copy;
    private readonly Dictionary<string, long> _known = new(StringComparer.Ordinal);
    private readonly Dictionary<string, long> _toShare = new(StringComparer.Ordinal);
    private Task? _sharing;

    public SharedSignOuts(
        OidcSessions sessions, ISharedDocuments shared, string stateFolder, TimeProvider time, ContainedFaults faults, ILogger logger)
    {
        _sessions = sessions;
        _time = time;
        _faults = faults;
        _copy = new SharedCopy(shared, SharedKind, OidcSessions.Most, stateFolder, this, logger);
    }

    /// <summary>Ends a session at the other nodes. Never throws.</summary>
    /// <returns>Completes when the database has it, or does not take it now.</returns>
    public Task ShareAsync(OidcSession session)
    {
        lock (_gate)
        {
            // One cookie signs out as often as its visitor likes.
            if (_known.ContainsKey(session.Id) || IsOver(session.Until))
            {
                return Task.CompletedTask;
            }

            if (_toShare.Count < OidcSessions.Most)
            {
                _toShare[session.Id] = session.Until;
            }

            return _sharing ??= Task.Run(ShareAllAsync);
        }
    }

    /// <inheritdoc/>
    public IReadOnlyList<SharedDocument> Own()
    {
        lock (_gate)
        {
            return [.. _known.Concat(_toShare.Where(one => !_known.ContainsKey(one.Key))).Where(one => !IsOver(one.Value)).Select(Write)];
        }
    }

    /// <inheritdoc/>
    public int Follow(SharedChanges changes)
    {
        lock (_gate)
        {
            foreach (var key in changes.Gone)
            {
                _known.Remove(key);
            }

            foreach (var document in changes.Put)
            {
                // One that cannot be read is over, so it is removed as these are.
                var isRead = Utf8Parser.TryParse(document.Value, out long until, out var length) && length == document.Value.Length;
                _known[document.Key] = isRead ? until : 0;
                _sessions.End(document.Key);
            }

            // The database answers again.
            if (_toShare.Count > 0)
            {
                _sharing ??= Task.Run(ShareAllAsync);
            }
        }

        return 0;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _stopping.Cancel();
        _copy.Dispose();
        _stopping.Dispose();
    }

    private static SharedDocument Write(KeyValuePair<string, long> one) =>
        new(one.Key, Encoding.ASCII.GetBytes(FormattableString.Invariant($"{one.Value}")));

    private async Task ShareAllAsync()
    {
        try
        {
            while (Next() is { } next && await TryShareAsync(next).ConfigureAwait(false))
            {
            }
        }
        catch (SharedUnavailableException)
        {
            // The log has the reason: every look fails too. The first one that does not begins again.
            Pause();
        }
        catch (Exception exception) when (_stopping.IsCancellationRequested
            && exception is OperationCanceledException or ObjectDisposedException)
        {
            Pause();
        }
        catch (Exception exception)
        {
            _faults.Add("shared sign-outs", exception);
            Pause();
        }
    }

    /// <summary>The next one to share; null: there is none, and the next sign-out begins again.</summary>
    private KeyValuePair<string, long>? Next()
    {
        lock (_gate)
        {
            if (_toShare.Count > 0)
            {
                return _toShare.First();
            }

            _sharing = null;
            return null;
        }
    }

    private async Task<bool> TryShareAsync(KeyValuePair<string, long> one)
    {
        foreach (var key in ToSweep())
        {
            await _copy.RemoveAsync(key, _stopping.Token).ConfigureAwait(false);
        }

        var (outcome, _) = await _copy.PutAsync(Write(one), _stopping.Token).ConfigureAwait(false);
        if (outcome != SharedOutcome.Done)
        {
            Pause();
            return false;
        }

        lock (_gate)
        {
            _toShare.Remove(one.Key);
        }

        return true;
    }

    /// <summary>Those that are over, and where there are as many as may be, the one that is over first.</summary>
    private string[] ToSweep()
    {
        lock (_gate)
        {
            string[] over = [.. _known.Where(one => IsOver(one.Value)).Take(Swept).Select(static one => one.Key)];
            return over.Length == 0 && _known.Count >= OidcSessions.Most ? [_known.MinBy(static one => one.Value).Key] : over;
        }
    }

    private bool IsOver(long until) => until < (_time.GetUtcNow() - _rest).ToUnixTimeSeconds();

    private void Pause()
    {
        lock (_gate)
        {
            _sharing = null;
        }
    }
}
