using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Explains what a backend speaks that does not answer in HTTP/1.x: to visitors each time, to the user once. Thread-safe.
/// </summary>
internal sealed class BackendMisunderstandings
{
    private readonly BackendTarget _target;
    private readonly BackendProbe _probe;
    private readonly IAgentEvents _events;
    private string? _reported;

    public BackendMisunderstandings(BackendTarget target, BackendProbe probe, IAgentEvents events)
    {
        _target = target;
        _probe = probe;
        _events = events;
    }

    /// <summary>Explains how an attempt failed.</summary>
    /// <param name="failure">What the backend did wrong.</param>
    /// <param name="closedNew">
    /// Whether it closed a new connection without a byte of an answer. A kept one says nothing: it may have closed that for being idle.
    /// </param>
    /// <param name="greeting">What the answer begins with, where it is no HTTP and can be read.</param>
    /// <returns>The failure, as far as it is known.</returns>
    public async ValueTask<BackendFailure> ExplainAsync(BackendFailure failure, bool closedNew, string? greeting)
    {
        var detail = failure.Detail;
        if (closedNew && detail == StreamResetDetail.ClosedBeforeResponse)
        {
            detail = await _probe.AskAsync().ConfigureAwait(false);
        }

        if (BackendWords.Misunderstood(_target, detail, greeting) is { } words && Interlocked.Exchange(ref _reported, words) != words)
        {
            _events.BackendUnreachable(_target, words);
        }

        return failure with { Detail = detail };
    }
}
