using Tunnel2.Inspection.Capture;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Access.Webhooks;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.RateLimits;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>
/// What holds for the requests of a session. The members of a pool share one object: a limit counts once for the name, and no member has
/// other rules than the next one. Thread-safe.
/// </summary>
internal sealed class SessionTerms
{
    private SessionRateLimit? _rateLimit;
    private ExchangeStore? _inspected;
    private AccessPolicy? _access;
    private SessionPolicy? _policy;
    private WebhookPolicy? _webhooks;

    /// <summary>The wrong logins that visitors have left, under any rules.</summary>
    public LoginBudget Logins { get; } = new();

    /// <summary>The rules of the server for the token; null: there are none. They belong to <see cref="Access"/>.</summary>
    public ForcedAccess? ForcedAccess { get; set; }

    /// <inheritdoc cref="EntrySession.RateLimit"/>
    public SessionRateLimit? RateLimit
    {
        get => Volatile.Read(ref _rateLimit);
        set => Volatile.Write(ref _rateLimit, value);
    }

    /// <inheritdoc cref="EntrySession.Access"/>
    public AccessPolicy? Access
    {
        get => Volatile.Read(ref _access);
        set => Volatile.Write(ref _access, value);
    }

    /// <inheritdoc cref="EntrySession.Policy"/>
    public SessionPolicy? Policy
    {
        get => Volatile.Read(ref _policy);
        set => Volatile.Write(ref _policy, value);
    }

    /// <inheritdoc cref="EntrySession.Webhooks"/>
    public WebhookPolicy? Webhooks
    {
        get => Volatile.Read(ref _webhooks);
        set => Volatile.Write(ref _webhooks, value);
    }

    /// <inheritdoc cref="EntrySession.Inspected"/>
    public ExchangeStore? Inspected
    {
        get => Volatile.Read(ref _inspected);
        set => Volatile.Write(ref _inspected, value);
    }
}
