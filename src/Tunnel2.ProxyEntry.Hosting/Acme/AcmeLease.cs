using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// That this node, and no other one of the cluster, works on a name. It is renewed until it is disposed of, which ends it at once; with a
/// node that dies it ends by itself.
/// </summary>
internal sealed class AcmeLease : IAsyncDisposable
{
    /// <summary>How long after the last sign of life another node takes over.</summary>
    public static readonly TimeSpan Life = TimeSpan.FromSeconds(20);

    private static readonly TimeSpan _renewal = TimeSpan.FromSeconds(5);

    private readonly ISharedLeases _leases;
    private readonly string _kind;
    private readonly string _name;
    private readonly byte[] _holder;
    private readonly TimeProvider _time;
    private readonly CancellationTokenSource _end = new();
    private readonly CancellationTokenSource _lost = new();
    private Task _renewing = Task.CompletedTask;

    private AcmeLease(ISharedLeases leases, string kind, string name, TimeProvider time)
    {
        _leases = leases;
        _kind = kind;
        _name = name;
        _holder = Guid.NewGuid().ToByteArray();
        _time = time;
    }

    /// <summary>Another node may have it now.</summary>
    public CancellationToken Lost => _lost.Token;

    /// <summary>Takes the lease of a name.</summary>
    /// <returns>It; null: another node works on the name.</returns>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public static async Task<AcmeLease?> TakeAsync(
        ISharedLeases leases, string kind, string name, TimeProvider time, CancellationToken cancellationToken)
    {
        var lease = new AcmeLease(leases, kind, name, time);
        var taken = time.GetTimestamp();
        if (!await leases.TakeAsync(kind, name, lease._holder, Life, cancellationToken).ConfigureAwait(false))
        {
            lease._end.Dispose();
            lease._lost.Dispose();
            return null;
        }

        lease._renewing = lease.RenewAsync(taken);
        return lease;
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync().ConfigureAwait(false);
        await _renewing.ConfigureAwait(false);
        if (!_lost.IsCancellationRequested)
        {
            try
            {
                await _leases.ReleaseAsync(_kind, _name, _holder, CancellationToken.None).ConfigureAwait(false);
            }
            catch (SharedUnavailableException)
            {
                // It ends by itself.
            }
        }

        _end.Dispose();
        _lost.Dispose();
    }

    private async Task RenewAsync(long taken)
    {
        while (true)
        {
            await Task.Delay(_renewal, _time, _end.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (_end.IsCancellationRequested)
            {
                return;
            }

            var now = _time.GetTimestamp();
            try
            {
                if (_time.GetElapsedTime(taken, now) < Life
                    && await _leases.TakeAsync(_kind, _name, _holder, Life, CancellationToken.None).ConfigureAwait(false))
                {
                    taken = now;
                    continue;
                }
            }
            catch (SharedUnavailableException) when (_time.GetElapsedTime(taken) + _renewal < Life)
            {
                continue;
            }
            catch (SharedUnavailableException)
            {
                // Below: it may be over before the next look.
            }

            await _lost.CancelAsync().ConfigureAwait(false);
            return;
        }
    }
}
