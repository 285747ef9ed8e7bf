namespace Tunnel2.ProxyEntry.Lifetime;

/// <summary>
/// Whether the process takes new work: starting, then ready, then draining, never back. Set by the host, read by <c>/health/ready</c>.
/// While it is ready there may be trouble that comes and goes. Thread-safe.
/// </summary>
internal sealed class Readiness
{
    private State _state = new(ReadinessPhase.Starting, "starting");
    private string? _trouble;

    /// <summary>The current phase.</summary>
    public ReadinessPhase Phase => Volatile.Read(ref _state).Phase;

    /// <summary>What keeps it from serving as it should, or null. As <see cref="Reason"/>, a short text for operators.</summary>
    public string? Trouble => Volatile.Read(ref _trouble);

    /// <summary>Whether everything is as it should be.</summary>
    public bool IsReady => Phase == ReadinessPhase.Ready && Trouble is null;

    /// <summary>The phase or why it is so, as a short text for operators. No secrets: it is shown without a token.</summary>
    public string Reason =>
        Volatile.Read(ref _state) is var state && state.Phase == ReadinessPhase.Ready ? Trouble ?? state.Reason : state.Reason;

    /// <summary>Something does not work for now, in words; null: it works again.</summary>
    public void SetTrouble(string? trouble) => Volatile.Write(ref _trouble, trouble);

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
