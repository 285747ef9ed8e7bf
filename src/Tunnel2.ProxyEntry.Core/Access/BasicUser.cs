using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access.Keys;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>A user of a tunnel, and the login that was found right, so that the slow hash is computed once. Thread-safe.</summary>
/// <param name="user">Name and hash.</param>
internal sealed class BasicUser(AccessUser user)
{
    private readonly PasswordHash _hash = user.Hash;
    private VerifiedLogin? _verified;

    /// <summary>The name as a field's value.</summary>
    public byte[] Name { get; } = Encoding.ASCII.GetBytes(user.Name);

    /// <summary>Whether a login was found right before.</summary>
    public bool Knows(in LoginKey key) => Volatile.Read(ref _verified) is { } verified && verified.Key.IsSameAs(key);

    /// <summary>Computes the slow hash.</summary>
    /// <param name="password">The password.</param>
    public bool Matches(ReadOnlySpan<byte> password) => _hash.Matches(password);

    /// <summary>A login was found right.</summary>
    public void Remember(in LoginKey key) => Volatile.Write(ref _verified, new VerifiedLogin(key));

    private sealed record VerifiedLogin(LoginKey Key);
}
