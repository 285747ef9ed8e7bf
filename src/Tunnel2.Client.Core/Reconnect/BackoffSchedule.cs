namespace Tunnel2.Client.Core.Reconnect;

/// <summary>The numbers of <see cref="FullJitterBackoff"/>.</summary>
internal sealed record BackoffSchedule
{
    /// <summary>The numbers agents use.</summary>
    public static BackoffSchedule Default { get; } = new();

    /// <summary>The ceiling of the first delay.</summary>
    public TimeSpan Base { get; init; } = TimeSpan.FromSeconds(0.5);

    /// <summary>The ceiling that no delay exceeds (a server's retry-after apart).</summary>
    public TimeSpan Cap { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// How long an outage counts as young. A restart of the server takes seconds, and is what agents should be quick about.
    /// </summary>
    public TimeSpan YoungOutage { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// The same for an outage that the server announced: it finishes what it has for up to 30 s before it ends and is started again.
    /// </summary>
    public TimeSpan AnnouncedOutage { get; init; } = TimeSpan.FromSeconds(90);

    /// <summary>The ceiling while the outage is young.</summary>
    public TimeSpan YoungCap { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>
    /// The lowest ceiling while another session of the agent serves its visitors: no visitor waits for this one, and other agents may have
    /// none.
    /// </summary>
    public TimeSpan ServedCeiling { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>A connection that lived as long ends the outage before it: the next delay is the first again.</summary>
    public TimeSpan StableLife { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The longest wait a server can ask for, so that one bad number does not park an agent for ever.</summary>
    public TimeSpan MaxRetryAfter { get; init; } = TimeSpan.FromHours(1);
}
