using System.Collections.Concurrent;
using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>
/// A user of a tunnel, and the login that was found right, so that the slow hash is computed once; and the addresses at which it was right.
/// Bounded: the oldest address makes room. Thread-safe.
/// </summary>
/// <param name="user">Name and hash.</param>
internal sealed class BasicUser(AccessUser user)
{
    /// <summary>How many addresses are remembered.</summary>
    public const int MostAddresses = 1_000;

    private readonly Lock _gate = new();
    private readonly PasswordHash _hash = user.Hash;
    private VerifiedLogin? _verified;

    /// <summary>The name as a field's value.</summary>
    public byte[] Name { get; } = Encoding.ASCII.GetBytes(user.Name);

    /// <summary>Whether a login was found right before.</summary>
    public bool Knows(in LoginKey key) => Volatile.Read(ref _verified) is { } verified && verified.Key.IsSameAs(key);

    /// <summary>Whether a login was found right before, at this address.</summary>
    public bool Knows(in LoginKey key, AddressKey from) =>
        Volatile.Read(ref _verified) is { } verified && verified.Key.IsSameAs(key) && verified.Addresses.ContainsKey(from);

    /// <summary>Computes the slow hash.</summary>
    /// <param name="password">The password.</param>
    public bool Matches(ReadOnlySpan<byte> password) => _hash.Matches(password);

    /// <summary>A login was found right at an address.</summary>
    public void Remember(in LoginKey key, AddressKey from)
    {
        lock (_gate)
        {
            if (_verified is not { } verified || !verified.Key.IsSameAs(key))
            {
                verified = new VerifiedLogin(key);
            }

            if (verified.Addresses.TryAdd(from, true))
            {
                verified.Order.Enqueue(from);
                if (verified.Order.Count > MostAddresses)
                {
                    verified.Addresses.TryRemove(verified.Order.Dequeue(), out _);
                }
            }

            Volatile.Write(ref _verified, verified);
        }
    }

    private sealed record VerifiedLogin(LoginKey Key)
    {
        /// <summary>Where it was right; a look-up takes no lock.</summary>
        public ConcurrentDictionary<AddressKey, bool> Addresses { get; } = new(concurrencyLevel: 1, capacity: 7);

        /// <summary>The same, the oldest first.</summary>
        public Queue<AddressKey> Order { get; } = new();
    }
}
