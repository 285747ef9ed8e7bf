using System.Diagnostics.CodeAnalysis;
using System.Text;
using Tunnel2.Inspection.Capture;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Access.Webhooks;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Policies;
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
    private SessionTerms _terms = new();
    private long _turnedAway;

    public required TunnelSession Tunnel { get; init; }

    /// <summary>The session's id: 16 random bytes.</summary>
    public required ReadOnlyMemory<byte> SessionId { get; init; }

    /// <summary>The secret that a JOIN must prove to know.</summary>
    public required ReadOnlyMemory<byte> JoinSecret { get; init; }

    public required string Name { get; init; }

    /// <summary>The name as the live plane has it.</summary>
    public string ShownName => field ??= DomainName.ShownOf(Name);

    /// <summary>The same as records have it. A name is always ASCII.</summary>
    public byte[] NameBytes => field ??= Encoding.Latin1.GetBytes(ShownName);

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

    /// <summary>Its place in the pool of its name; null: it has its name for itself.</summary>
    public PoolMember? Member { get; init; }

    /// <summary>Whether its agent has sessions under the name at several nodes at the same time.</summary>
    public bool IsSpread { get; init; }

    /// <summary>Whether its agent hears of nodes that come and go while it runs.</summary>
    public bool HearsNodes { get; init; }

    /// <summary>What holds for its requests: its own, or those of its pool. Replaced only before a request can find the session.</summary>
    public SessionTerms Terms
    {
        get => Volatile.Read(ref _terms);
        set => Volatile.Write(ref _terms, value);
    }

    /// <summary>The limit of requests; null when there is none. Replaced when the settings change.</summary>
    public SessionRateLimit? RateLimit
    {
        get => Terms.RateLimit;
        set => Terms.RateLimit = value;
    }

    /// <summary>The rules that its agent sent; null: it sent none, and knows nothing of rules.</summary>
    public AccessRules? OwnRules { get; init; }

    /// <summary>The same, as they are checked.</summary>
    public AccessSet? OwnAccess { get; init; }

    /// <summary>The rules of the server for its token; null: there are none. They belong to <see cref="Access"/>.</summary>
    public ForcedAccess? ForcedAccess
    {
        get => Terms.ForcedAccess;
        set => Terms.ForcedAccess = value;
    }

    /// <summary>The wrong logins that visitors have left, under any rules.</summary>
    public LoginBudget Logins => Terms.Logins;

    /// <summary>Who may visit; null: all. Replaced when the settings change.</summary>
    public AccessPolicy? Access
    {
        get => Terms.Access;
        set => Terms.Access = value;
    }

    /// <summary>The policy that its agent sent; null: none.</summary>
    public Policy? OwnPolicy { get; init; }

    /// <summary>What happens to its requests, by rows; null: nothing. Replaced when the settings change.</summary>
    public SessionPolicy? Policy
    {
        get => Terms.Policy;
        set => Terms.Policy = value;
    }

    /// <summary>Which signatures its requests need; null: none. Replaced when the settings change.</summary>
    public WebhookPolicy? Webhooks
    {
        get => Terms.Webhooks;
        set => Terms.Webhooks = value;
    }

    /// <summary>Requests that its access rules refused.</summary>
    public long TurnedAway => Volatile.Read(ref _turnedAway);

    /// <summary>Keeps the last exchanges while an administrator inspects the session; otherwise null.</summary>
    public ExchangeStore? Inspected
    {
        get => Terms.Inspected;
        set => Terms.Inspected = value;
    }

    public required string AgentVersion { get; init; }

    /// <summary>What it carries.</summary>
    public SessionKind Kind { get; init; }

    /// <summary>The public port of a session of TCP, which the session gives back at its end; null for other kinds.</summary>
    public PortLease? Lease { get; init; }

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

    /// <summary>Counts a request that its access rules refused.</summary>
    public void CountTurnedAway() => Interlocked.Increment(ref _turnedAway);

    /// <summary>Cancels <see cref="Leaving"/> for all streams that have begun; returns at once.</summary>
    public void MarkLeaving()
    {
        _isLeaving = true;
        _ = Interlocked.Exchange(ref _leaving, new CancellationTokenSource()).CancelAsync();
    }
}
