using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>A token that has to be checked. Immutable.</summary>
/// <param name="text">The token.</param>
/// <param name="key">By which it is known again.</param>
/// <param name="from">The visitor's address.</param>
internal sealed class PendingToken(string text, LoginKey key, AddressKey from)
{
    /// <summary>The token, a secret.</summary>
    public string Text { get; } = text;

    /// <summary>By which it is known again.</summary>
    public LoginKey Key { get; } = key;

    /// <summary>The visitor's address.</summary>
    public AddressKey From { get; } = from;

    /// <summary>Never the token.</summary>
    public override string ToString() => nameof(PendingToken);
}
