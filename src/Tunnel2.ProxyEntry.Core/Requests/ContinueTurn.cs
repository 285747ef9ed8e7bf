using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// State of a request whose visitor waits for <c>100 Continue</c>. The request's pump sends the 100, and the response's pump may have an
/// answer at the same moment: with this object they take turns in writing to the visitor. Thread-safe.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "A semaphore whose wait handle no code asks for holds nothing to dispose of.")]
internal sealed class ContinueTurn
{
    private readonly SemaphoreSlim _turn = new(1, 1);
    private readonly TaskCompletionSource _mayRead = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _finalStarted;

    /// <summary>Completes when the wait for the backend is over: it sent a 100 or its answer.</summary>
    public Task MayRead => _mayRead.Task;

    /// <summary>Lets the request's pump continue.</summary>
    public void Release() => _mayRead.TrySetResult();

    /// <summary>The response's pump takes its turn to write; <see cref="EndHead"/> follows.</summary>
    public Task BeginHeadAsync() => _turn.WaitAsync();

    /// <summary>The response's pump has finished writing.</summary>
    /// <param name="isFinal">Whether the final response has begun. Then the request's pump never writes again.</param>
    public void EndHead(bool isFinal)
    {
        _finalStarted |= isFinal;
        _turn.Release();
    }

    /// <summary>Sends <c>100 Continue</c>, unless the final response has begun.</summary>
    /// <returns>False when it has begun, so the body is not wanted.</returns>
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
