using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>A login that has to be checked, for which its address needs an attempt. Immutable.</summary>
/// <param name="pair">User, colon and password.</param>
/// <param name="colon">Where the colon is.</param>
/// <param name="key">The key of the pair.</param>
/// <param name="from">The visitor's address.</param>
internal sealed class BasicLogin(ReadOnlySpan<byte> pair, int colon, LoginKey key, AddressKey from)
{
    private readonly byte[] _pair = pair.ToArray();

    /// <summary>The key, by which the same login is known again.</summary>
    public LoginKey Key { get; } = key;

    /// <summary>The visitor's address.</summary>
    public AddressKey From { get; } = from;

    /// <summary>The user's name as the visitor wrote it.</summary>
    public ReadOnlySpan<byte> User => _pair.AsSpan(0, colon);

    /// <summary>The password.</summary>
    public ReadOnlySpan<byte> Password => _pair.AsSpan(colon + 1);

    /// <summary>Never the login.</summary>
    public override string ToString() => nameof(BasicLogin);
}
