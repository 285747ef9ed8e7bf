using Tunnel2.ProxyEntry.Access.Keys;

namespace Tunnel2.ProxyEntry.Access.Oidc;

/// <summary>The sealed session of a cookie, which has to be opened. Immutable.</summary>
/// <param name="text">The value of the cookie.</param>
/// <param name="key">By which it is known again.</param>
internal sealed class PendingSession(string text, LoginKey key)
{
    /// <summary>The value of the cookie, a secret.</summary>
    public string Text { get; } = text;

    /// <summary>By which it is known again.</summary>
    public LoginKey Key { get; } = key;

    /// <summary>Never the cookie.</summary>
    public override string ToString() => nameof(PendingSession);
}
