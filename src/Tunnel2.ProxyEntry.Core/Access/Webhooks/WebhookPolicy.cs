using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Access.Webhooks;

/// <summary>Which signatures the requests of a session need: by the server for its token, and by its agent. All have to be right.</summary>
internal sealed class WebhookPolicy
{
    private readonly WebhookVerifier[] _verifiers;
    private readonly WebhookMemoryKey[][] _memories;

    /// <param name="forced">The server's rule; null: it has none.</param>
    /// <param name="own">The agent's rule; null: it has none.</param>
    /// <param name="owner">Whose tunnel it is: signatures may not come again at another one of the same owner.</param>
    public WebhookPolicy(WebhookRule? forced, WebhookRule? own, string owner)
    {
        Forced = forced;
        Own = own;
        WebhookRule[] rules = [.. new[] { forced, own }.OfType<WebhookRule>()];
        _verifiers = [.. rules.Select(static rule => new WebhookVerifier(rule))];
        _memories = [.. rules.Select(rule => WebhookMemoryKey.Of(owner, rule))];
    }

    /// <summary>The server's rule; null: it has none.</summary>
    public WebhookRule? Forced { get; }

    /// <summary>The agent's rule; null: it has none.</summary>
    public WebhookRule? Own { get; }

    /// <summary>Whether both ask for the same.</summary>
    public bool IsSameAs(WebhookPolicy other) => ReferenceEquals(this, other) || IsSameAs(other.Forced, other.Own);

    /// <summary>Whether it has these rules.</summary>
    public bool IsSameAs(WebhookRule? forced, WebhookRule? own) => AreSame(Forced, forced) && AreSame(Own, own);

    /// <summary>Begins the checks of a request.</summary>
    /// <returns>Null when a signature is missing or cannot be right.</returns>
    public WebhookCheck[]? TryBegin(in WebhookHead head, DateTimeOffset now)
    {
        var checks = new WebhookCheck[_verifiers.Length];
        for (var i = 0; i < checks.Length; i++)
        {
            if (_verifiers[i].TryBegin(head, now) is not { } check)
            {
                for (var j = 0; j < i; j++)
                {
                    checks[j].Dispose();
                }

                return null;
            }

            checks[i] = check;
        }

        return checks;
    }

    /// <summary>Whether all checks pass, after the body; and none of their signatures came before that may come only once.</summary>
    public bool Passes(WebhookCheck[] checks, WebhookMemories memories, DateTimeOffset now)
    {
        var isRight = true;
        foreach (var check in checks)
        {
            isRight &= check.IsRight();
        }

        for (var i = 0; isRight && i < checks.Length; i++)
        {
            isRight = !checks[i].IsOnce || IsFirst(checks[i].Own, _memories[i], memories, now);
        }

        return isRight;
    }

    /// <summary>Remembers a request by the signatures of all secrets: it may come again with another one of them.</summary>
    private static bool IsFirst(
        IReadOnlyList<byte[]> own, WebhookMemoryKey[] keys, WebhookMemories memories, DateTimeOffset now)
    {
        var isFirst = true;
        for (var i = 0; i < keys.Length; i++)
        {
            // A rule may have a secret twice.
            if (Array.IndexOf(keys, keys[i]) == i)
            {
                isFirst &= memories.TryAdd(keys[i], own[i], now);
            }
        }

        return isFirst;
    }

    private static bool AreSame(WebhookRule? left, WebhookRule? right) => left is null || right is null
        ? left is null && right is null
        : left.Provider == right.Provider
            && left.Secrets.Count == right.Secrets.Count
            && left.Secrets.Zip(right.Secrets).All(static pair => pair.First.Span.SequenceEqual(pair.Second.Span));
}
