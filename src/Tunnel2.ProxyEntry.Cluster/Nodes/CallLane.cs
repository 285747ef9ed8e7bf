using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.ProxyEntry.Cluster.Nodes;

/// <summary>
/// How many calls of one kind are at the database at once, so that no kind takes the connections of the others: a node that renews its
/// lease too late loses all of its names. Thread-safe.
/// </summary>
/// <param name="places">How many.</param>
/// <param name="patience">How long a caller waits for a place.</param>
/// <param name="timeProvider">The clock.</param>
[SuppressMessage("Design", "CA1001", Justification = "A semaphore whose wait handle no code asks for holds nothing to dispose of.")]
internal sealed class CallLane(int places, TimeSpan patience, TimeProvider timeProvider)
{
    private readonly SemaphoreSlim _places = new(places);

    /// <summary>Waits for a place.</summary>
    /// <returns>False: there was none in time. True: <see cref="Leave"/> follows.</returns>
    /// <exception cref="OperationCanceledException">It was given up.</exception>
    public async ValueTask<bool> TryEnterAsync(CancellationToken cancellationToken)
    {
        if (_places.Wait(0, CancellationToken.None))
        {
            return true;
        }

        using var limit = new CancellationTokenSource(patience, timeProvider);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, cancellationToken);
        try
        {
            await _places.WaitAsync(either.Token).ConfigureAwait(false);
            return true;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return false;
        }
    }

    /// <summary>Gives the place to the next one.</summary>
    public void Leave() => _places.Release();
}
