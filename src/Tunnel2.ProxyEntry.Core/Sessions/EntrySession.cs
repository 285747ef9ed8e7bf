using System.Diagnostics.CodeAnalysis;
using System.Text;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.RateLimits;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>A session at ProxyEntry: its tunnel and its registration. Immutable except for the tunnel's own state.</summary>
[SuppressMessage(
    "Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "The source has no timer and no wait handle, and requests may look at it after the session's end.")]
internal sealed class EntrySession
{
    private CancellationTokenSource _leaving = new();
    private volatile bool _isLeaving;
    private SessionRateLimit? _rateLimit;

    public required TunnelSession Tunnel { get; init; }

    /// <summary>The session's id: 16 random bytes.</summary>
    public required ReadOnlyMemory<byte> SessionId { get; init; }

    /// <summary>The secret that a JOIN must prove to know.</summary>
    public required ReadOnlyMemory<byte> JoinSecret { get; init; }

    public required string Name { get; init; }

    /// <summary>The name as records have it. A name is always ASCII.</summary>
    public byte[] NameBytes => field ??= Encoding.Latin1.GetBytes(Name);

    public required AgentIdentity Identity { get; init; }

    /// <summary>
    /// The owner for whom the name and waiting requests are kept after the session: the identity, or, without a token, the owner key that
    /// this agent showed.
    /// </summary>
    public AgentIdentity Owner
    {
        get => field == default ? Identity : field;
        init;
    }

    /// <summary>How the agent was admitted; null without a token or certificate.</summary>
    public AgentGrant? Grant { get; init; }

    /// <summary>The holder whose number of sessions it counts to; null when it counts to none.</summary>
    public string? Holder { get; init; }

    /// <summary>The limit of requests; null when there is none. Replaced when the settings change.</summary>
    public SessionRateLimit? RateLimit
    {
        get => Volatile.Read(ref _rateLimit);
        set => Volatile.Write(ref _rateLimit, value);
    }

    public required string AgentVersion { get; init; }

    /// <summary>The settings that the handshake of the first uplink agreed on; they hold for every uplink of the session.</summary>
    public UplinkSettings UplinkSettings { get; init; } = new() { Role = UplinkRole.Entry };

    /// <summary>How many uplinks it may have at once.</summary>
    public int MaxUplinks { get; init; } = 1;

    /// <summary>When the session began, a timestamp of the host's time provider.</summary>
    public long StartedAt { get; set; }

    /// <summary>The running process of the agent: a digest of its instance key.</summary>
    public AgentIdentity Instance { get; init; }

    /// <summary>The registration's number. Set once, before the session serves requests.</summary>
    public long Epoch { get; set; }

    /// <summary>
    /// Cancelled when the session is about to end in order, because its agent, ProxyEntry or a successor said so: streams without an end
    /// should end then. The token is for streams that begin now. An agent may say goodbye more than once and serve requests in between.
    /// </summary>
    public CancellationToken Leaving => Volatile.Read(ref _leaving).Token;

    /// <summary>Whether the session was marked as about to end.</summary>
    public bool IsLeaving => _isLeaving;

    /// <summary>The session id as logs show it.</summary>
    public string DisplayId => Convert.ToHexStringLower(SessionId.Span[..4]);

    /// <summary>Cancels <see cref="Leaving"/> for all streams that have begun; returns at once.</summary>
    public void MarkLeaving()
    {
        _isLeaving = true;
        _ = Interlocked.Exchange(ref _leaving, new CancellationTokenSource()).CancelAsync();
    }
}
