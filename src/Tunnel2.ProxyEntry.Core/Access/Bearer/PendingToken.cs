using Tunnel2.ProxyEntry.Access.Keys;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>A token that has to be checked. Immutable.</summary>
/// <param name="text">The token.</param>
/// <param name="key">By which it is known again.</param>
internal sealed class PendingToken(string text, LoginKey key)
{
    /// <summary>The token, a secret.</summary>
    public string Text { get; } = text;

    /// <summary>By which it is known again.</summary>
    public LoginKey Key { get; } = key;

    /// <summary>Never the token.</summary>
    public override string ToString() => nameof(PendingToken);
}
