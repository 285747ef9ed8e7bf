namespace Tunnel2.ProxyEntry.Admin;

/// <summary>
/// Whether the process takes new work: starting, then ready, then draining, never back. Set by the host, read by <c>/health/ready</c>.
/// Thread-safe.
/// </summary>
internal sealed class Readiness
{
    private State _state = new(ReadinessPhase.Starting, "starting");

    /// <summary>The current phase.</summary>
    public ReadinessPhase Phase => Volatile.Read(ref _state).Phase;

    /// <summary>The phase or why it is so, as a short text for operators. No secrets: it is shown without a token.</summary>
    public string Reason => Volatile.Read(ref _state).Reason;

    /// <summary>All listeners work. Has no effect once draining.</summary>
    public void MarkReady() => Advance(new State(ReadinessPhase.Ready, "ready"));

    /// <summary>Shutdown has begun. For good.</summary>
    public void MarkDraining(string reason = "draining") => Advance(new State(ReadinessPhase.Draining, reason));

    /// <summary>Says what starting waits for. Has no effect once ready.</summary>
    public void SetStarting(string reason) => Advance(new State(ReadinessPhase.Starting, reason));

    private void Advance(State next)
    {
        var current = Volatile.Read(ref _state);
        while (next.Phase >= current.Phase)
        {
            var before = Interlocked.CompareExchange(ref _state, next, current);
            if (ReferenceEquals(before, current))
            {
                return;
            }

            current = before;
        }
    }

    private sealed record State(ReadinessPhase Phase, string Reason);
}
