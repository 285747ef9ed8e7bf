using System.Buffers;
using System.Security.Cryptography;
using System.Text;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>
/// The SHA-256 of a token: settings keep it, never the token. Hashes are compared in constant time, so an attacker learns neither the
/// length of the token nor how much of a guess was right. Immutable.
/// </summary>
internal sealed class TokenHash
{
    private const string Prefix = "sha256:";
    private readonly byte[] _hash;

    private TokenHash(byte[] hash) => _hash = hash;

    /// <summary>Hashes a token's UTF-8 bytes.</summary>
    public static TokenHash FromToken(string token) => new(SHA256.HashData(Encoding.UTF8.GetBytes(token)));

    /// <summary>Makes a new token with 256 random bits. It starts with <c>t2_</c>, so that secret scanners can find it.</summary>
    public static string CreateToken() =>
        "t2_" + Convert.ToBase64String(RandomNumberGenerator.GetBytes(32)).TrimEnd('=').Replace('+', '-').Replace('/', '_');

    /// <summary>Parses <c>sha256:</c> and 64 hexadecimal digits; the prefix may be missing.</summary>
    public static bool TryParse(string? setting, out TokenHash? hash)
    {
        hash = null;
        if (setting is null)
        {
            return false;
        }

        var digits = setting.AsSpan().Trim();
        if (digits.StartsWith(Prefix, StringComparison.OrdinalIgnoreCase))
        {
            digits = digits[Prefix.Length..];
        }

        var bytes = new byte[SHA256.HashSizeInBytes];
        if (digits.Length != bytes.Length * 2
            || Convert.FromHexString(digits, bytes, out _, out _) != OperationStatus.Done)
        {
            return false;
        }

        hash = new TokenHash(bytes);
        return true;
    }

    /// <summary>The form for <c>Agents:&lt;id&gt;:TokenHash</c>, which <see cref="TryParse"/> reads.</summary>
    public string ToSetting() => Prefix + Convert.ToHexStringLower(_hash);

    /// <summary>Whether this is the hash of the token, in a time that does not depend on the answer.</summary>
    /// <param name="token">The token's UTF-8 bytes.</param>
    public bool Matches(ReadOnlySpan<byte> token)
    {
        Span<byte> other = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(token, other);
        return MatchesHash(other);
    }

    /// <summary>Whether the given SHA-256 is this one, in constant time; false for any length except 32 bytes.</summary>
    public bool MatchesHash(ReadOnlySpan<byte> hash) => CryptographicOperations.FixedTimeEquals(_hash, hash);

    /// <summary>Whether both are the hash of the same token, in constant time.</summary>
    public bool IsSameAs(TokenHash other) => MatchesHash(other._hash);

    /// <summary>Never the hash, because the token of a short hash could be searched for.</summary>
    public override string ToString() => nameof(TokenHash);
}
