using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Access.Oidc;

/// <summary>The sealed session of a cookie, which has to be opened. Immutable.</summary>
/// <param name="text">The value of the cookie.</param>
/// <param name="key">By which it is known again.</param>
/// <param name="from">The visitor's address.</param>
internal sealed class PendingSession(string text, LoginKey key, AddressKey from)
{
    /// <summary>The value of the cookie, a secret.</summary>
    public string Text { get; } = text;

    /// <summary>By which it is known again.</summary>
    public LoginKey Key { get; } = key;

    /// <summary>The visitor's address.</summary>
    public AddressKey From { get; } = from;

    /// <summary>Never the cookie.</summary>
    public override string ToString() => nameof(PendingSession);
}
