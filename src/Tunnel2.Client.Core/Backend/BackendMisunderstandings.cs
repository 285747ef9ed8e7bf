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

        return Report(failure with { Detail = detail }, greeting);
    }

    /// <summary>Explains why the backend has closed a new connection of HTTP/2 before its first word.</summary>
    /// <param name="failure">That it has.</param>
    /// <returns>The failure, as far as it is known.</returns>
    public async ValueTask<BackendFailure> ExplainNoHttp2Async(BackendFailure failure) =>
        await _probe.AskAsync().ConfigureAwait(false) == StreamResetDetail.WantsCertificate
            ? Report(failure with { Detail = StreamResetDetail.WantsCertificate }, null)
            : failure;

    private BackendFailure Report(BackendFailure failure, string? greeting)
    {
        if (BackendWords.Misunderstood(_target, failure.Detail, greeting) is { } words
            && Interlocked.Exchange(ref _reported, words) != words)
        {
            _events.BackendUnreachable(_target, words);
        }

        return failure;
    }
}
