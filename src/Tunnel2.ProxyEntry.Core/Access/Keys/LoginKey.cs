using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace Tunnel2.ProxyEntry.Access.Keys;

/// <summary>
/// A pair of user and password, a token or a cookie as this process knows it again: an HMAC with a key that no other process has. It is
/// made for every request with one of these, so it is fast, and it never leaves the process.
/// </summary>
/// <param name="A">The first 8 bytes.</param>
/// <param name="B">The next 8 bytes.</param>
/// <param name="C">The next 8 bytes.</param>
/// <param name="D">The last 8 bytes.</param>
internal readonly record struct LoginKey(ulong A, ulong B, ulong C, ulong D)
{
    private static readonly byte[] _secret = RandomNumberGenerator.GetBytes(HMACSHA256.HashSizeInBytes);

    /// <summary>The key of a pair, a token or a cookie.</summary>
    /// <param name="pair">User, colon and password; or the token, or the cookie's value.</param>
    public static LoginKey Of(ReadOnlySpan<byte> pair)
    {
        Span<ulong> words = stackalloc ulong[4];
        HMACSHA256.HashData(_secret, pair, MemoryMarshal.AsBytes(words));
        return new LoginKey(words[0], words[1], words[2], words[3]);
    }

    /// <summary>Whether both are equal, in a time that does not depend on where they differ.</summary>
    public bool IsSameAs(in LoginKey other) => ((A ^ other.A) | (B ^ other.B) | (C ^ other.C) | (D ^ other.D)) == 0;

    /// <summary>Never the key.</summary>
    public override string ToString() => nameof(LoginKey);
}
