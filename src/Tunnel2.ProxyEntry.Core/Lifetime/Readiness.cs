namespace Tunnel2.ProxyEntry.Lifetime;

/// <summary>
/// Whether the process takes new work: starting, then ready, then draining, in this order only. The host sets it, <c>/health/ready</c>
/// reads it. While the process is ready it may have a temporary trouble. Thread-safe.
/// </summary>
internal sealed class Readiness
{
    private State _state = new(ReadinessPhase.Starting, "starting");
    private readonly string?[] _troubles = new string?[Enum.GetValues<ReadinessTrouble>().Length];

    /// <summary>The current phase.</summary>
    public ReadinessPhase Phase => Volatile.Read(ref _state).Phase;

    /// <summary>What limits the service now, as a short text for operators; null when nothing does.</summary>
    public string? Trouble
    {
        get
        {
            foreach (ref var trouble in _troubles.AsSpan())
            {
                if (Volatile.Read(ref trouble) is { } text)
                {
                    return text;
                }
            }

            return null;
        }
    }

    /// <summary>Whether the process is ready and has no trouble.</summary>
    public bool IsReady => Phase == ReadinessPhase.Ready && Trouble is null;

    /// <summary>The phase, or the reason for it, as a short text for operators. No secrets: it is shown without a token.</summary>
    public string Reason =>
        Volatile.Read(ref _state) is var state && state.Phase == ReadinessPhase.Ready ? Trouble ?? state.Reason : state.Reason;

    /// <summary>Sets a temporary trouble of a part, as text; null when it is over.</summary>
    public void SetTrouble(ReadinessTrouble part, string? trouble) => Volatile.Write(ref _troubles[(int)part], trouble);

    /// <summary>All listeners work. Has no effect once draining.</summary>
    public void MarkReady() => Advance(new State(ReadinessPhase.Ready, "ready"));

    /// <summary>Shutdown has begun. Final.</summary>
    public void MarkDraining(string reason = "draining") => Advance(new State(ReadinessPhase.Draining, reason));

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
