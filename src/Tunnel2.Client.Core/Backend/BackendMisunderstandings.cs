using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Says of a backend that is there, and does not answer in HTTP/1.x, what it speaks: to visitors each time, to the user once. Thread-safe.
/// </summary>
internal sealed class BackendMisunderstandings
{
    private readonly BackendTarget _target;
    private readonly BackendProbe _probe;
    private readonly IAgentEvents _events;
    private string? _told;

    public BackendMisunderstandings(BackendTarget target, BackendProbe probe, IAgentEvents events)
    {
        _target = target;
        _probe = probe;
        _events = events;
    }

    /// <summary>Explains how an attempt failed.</summary>
    /// <param name="end">Its end, with a failure of the backend's.</param>
    /// <param name="isReused">Whether it was made on a connection that the backend may have closed for being idle: that says
    /// nothing.</param>
    /// <param name="greeting">What the answer begins with, where it is no HTTP and can be read.</param>
    /// <returns>The failure, as far as it is known.</returns>
    public async ValueTask<BackendFailure> ExplainAsync(AttemptEnd end, bool isReused, string? greeting)
    {
        var detail = end.Failure.Detail;
        if (end.Outcome == AttemptOutcome.NothingCame && detail == StreamResetDetail.ClosedBeforeResponse && !isReused)
        {
            detail = await _probe.AskAsync().ConfigureAwait(false);
        }

        if (BackendWords.Misunderstood(_target, detail, greeting) is { } words && Interlocked.Exchange(ref _told, words) != words)
        {
            _events.BackendUnreachable(_target, words);
        }

        return end.Failure with { Detail = detail };
    }
}
