using System.Diagnostics.CodeAnalysis;
using System.Text;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.RateLimits;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>
/// A session as ProxyEntry knows it: the tunnel, and the registration it stands for. Immutable but for the tunnel's own state.
/// </summary>
[SuppressMessage(
    "Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "The source has no timer and no wait handle, and requests may look at it after the session's end.")]
internal sealed class EntrySession
{
    private CancellationTokenSource _leaving = new();
    private volatile bool _isLeaving;
    private SessionRateLimit? _rateLimit;

    public required TunnelSession Tunnel { get; init; }

    /// <summary>16 random bytes.</summary>
    public required ReadOnlyMemory<byte> SessionId { get; init; }

    /// <summary>What a JOIN must prove to know. A secret.</summary>
    public required ReadOnlyMemory<byte> JoinSecret { get; init; }

    public required string Name { get; init; }

    /// <summary>The name as records have it: it has no characters but ASCII.</summary>
    public byte[] NameBytes => field ??= Encoding.Latin1.GetBytes(Name);

    public required AgentIdentity Identity { get; init; }

    /// <summary>
    /// For whom name and waiting requests are kept when the session is over: the identity, or, without a token, whoever shows the owner key
    /// that this agent showed.
    /// </summary>
    public AgentIdentity Owner
    {
        get => field == default ? Identity : field;
        init;
    }

    /// <summary>By what the agent was admitted; null without a token or certificate.</summary>
    public AgentGrant? Grant { get; init; }

    /// <summary>Whose sessions it counts to; null: nobody's.</summary>
    public string? Holder { get; init; }

    /// <summary>How many requests the session may get; null when it may get any number. Set again when the settings change.</summary>
    public SessionRateLimit? RateLimit
    {
        get => Volatile.Read(ref _rateLimit);
        set => Volatile.Write(ref _rateLimit, value);
    }

    public required string AgentVersion { get; init; }

    /// <summary>What the handshake of the first uplink settled; it holds for every uplink of the session.</summary>
    public UplinkSettings UplinkSettings { get; init; } = new() { Role = UplinkRole.Entry };

    /// <summary>The most uplinks at once.</summary>
    public int MaxUplinks { get; init; } = 1;

    /// <summary>When the session began, a timestamp of the host's time provider.</summary>
    public long StartedAt { get; set; }

    /// <summary>Which process of the identity it is: a digest of the agent's instance key.</summary>
    public AgentIdentity Instance { get; init; }

    /// <summary>The registration's number; set once, before the session is served.</summary>
    public long Epoch { get; set; }

    /// <summary>
    /// Cancelled when the session is about to end in order (its agent, ProxyEntry or a successor said so): what would otherwise go on for
    /// ever should find an end. For what begins now: an agent may say more than once that it goes, and serve in between.
    /// </summary>
    public CancellationToken Leaving => Volatile.Read(ref _leaving).Token;

    /// <summary>Whether anybody has said that the session is about to end.</summary>
    public bool IsLeaving => _isLeaving;

    /// <summary>The session id as logs show it.</summary>
    public string DisplayId => Convert.ToHexStringLower(SessionId.Span[..4]);

    /// <summary>Cancels <see cref="Leaving"/> for all that has begun; returns at once.</summary>
    public void MarkLeaving()
    {
        _isLeaving = true;
        _ = Interlocked.Exchange(ref _leaving, new CancellationTokenSource()).CancelAsync();
    }
}
