using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// What is kept of a request whose visitor waits for <c>100 Continue</c>: the request's pump, which says it, and the response's pump, which
/// may have an answer at the same moment, write to the visitor in turns. Thread-safe.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "A semaphore whose wait handle nobody asks for holds nothing to dispose of.")]
internal sealed class ContinueTurn
{
    private readonly SemaphoreSlim _turn = new(1, 1);
    private readonly TaskCompletionSource _mayRead = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _finalStarted;

    /// <summary>Completes when there is no need to wait for the backend any more: it said 100, or gave its answer.</summary>
    public Task MayRead => _mayRead.Task;

    /// <summary>Lets the request's pump go on.</summary>
    public void Release() => _mayRead.TrySetResult();

    /// <summary>The response's pump takes its turn to write; <see cref="EndHead"/> follows.</summary>
    public Task BeginHeadAsync() => _turn.WaitAsync();

    /// <summary>The response's pump has written.</summary>
    /// <param name="isFinal">Whether the final response has begun: then nobody else writes ever after.</param>
    public void EndHead(bool isFinal)
    {
        _finalStarted |= isFinal;
        _turn.Release();
    }

    /// <summary>Says <c>100 Continue</c>, unless the final response has begun.</summary>
    /// <returns>False when it has: the body is not wanted.</returns>
    public async ValueTask<bool> TryContinueAsync(VisitorExchange exchange)
    {
        await _turn.WaitAsync().ConfigureAwait(false);
        try
        {
            if (_finalStarted)
            {
                return false;
            }

            await exchange.SendContinueAsync().ConfigureAwait(false);
            return true;
        }
        finally
        {
            _turn.Release();
        }
    }
}
