using System.Buffers.Text;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace Tunnel2.Protocol.Handshake;

/// <summary>
/// The slow hash of a password (PBKDF2 with HMAC-SHA256): what files and the wire have in place of the password. Immutable.
/// </summary>
public sealed class PasswordHash
{
    /// <summary>The fewest iterations of a hash that is accepted.</summary>
    public const int LeastIterations = 10_000;

    /// <summary>The maximum number of iterations of a hash that is accepted: a check must not take a server's processor for long.</summary>
    public const int MostIterations = 1_000_000;

    /// <summary>The iterations of a hash that is made here.</summary>
    public const int UsualIterations = 600_000;

    /// <summary>The longest password, in bytes of UTF-8.</summary>
    public const int MaxPasswordLength = 256;

    /// <summary>The first word of the text form.</summary>
    public const string Prefix = "pbkdf2-sha256:";

    internal const int LeastSalt = 16;
    internal const int MostSalt = 32;
    internal const int DigestLength = SHA256.HashSizeInBytes;

    private readonly byte[] _salt;
    private readonly byte[] _digest;

    internal PasswordHash(int iterations, byte[] salt, byte[] digest)
    {
        Iterations = iterations;
        _salt = salt;
        _digest = digest;
    }

    /// <summary>How often the function is repeated.</summary>
    public int Iterations { get; }

    internal ReadOnlySpan<byte> Salt => _salt;

    internal ReadOnlySpan<byte> Digest => _digest;

    /// <summary>Hashes a password with a new salt. It takes a good part of a second.</summary>
    /// <param name="password">1 to <see cref="MaxPasswordLength"/> bytes of UTF-8.</param>
    /// <param name="iterations"><see cref="LeastIterations"/> to <see cref="MostIterations"/>.</param>
    /// <exception cref="ArgumentException">The password or the number of iterations is out of range.</exception>
    public static PasswordHash Create(string password, int iterations = UsualIterations)
    {
        var bytes = Encoding.UTF8.GetBytes(password);
        if (bytes.Length is 0 or > MaxPasswordLength || !AreIterations((uint)iterations))
        {
            throw new ArgumentException("The password or the number of iterations is out of range.");
        }

        var salt = RandomNumberGenerator.GetBytes(LeastSalt);
        return new PasswordHash(
            iterations, salt, Rfc2898DeriveBytes.Pbkdf2(bytes, salt, iterations, HashAlgorithmName.SHA256, DigestLength));
    }

    /// <summary>Reads the text form, which <see cref="ToText"/> writes: <c>pbkdf2-sha256:600000:SALT:DIGEST</c>.</summary>
    /// <param name="text">The text.</param>
    /// <param name="hash">The hash, or null.</param>
    public static bool TryParse(ReadOnlySpan<char> text, out PasswordHash? hash)
    {
        hash = null;
        Span<Range> parts = stackalloc Range[4];
        if (!text.StartsWith(Prefix, StringComparison.Ordinal)
            || text[Prefix.Length..].Split(parts, ':') != 3
            || !uint.TryParse(text[Prefix.Length..][parts[0]], NumberStyles.None, CultureInfo.InvariantCulture, out var iterations)
            || !AreIterations(iterations)
            || Decode(text[Prefix.Length..][parts[1]]) is not { Length: >= LeastSalt and <= MostSalt } salt
            || Decode(text[Prefix.Length..][parts[2]]) is not { Length: DigestLength } digest)
        {
            return false;
        }

        hash = new PasswordHash((int)iterations, salt, digest);
        return true;
    }

    /// <summary>The text form. It is no password, and yet a weak password can be guessed from it.</summary>
    public string ToText() => string.Create(
        CultureInfo.InvariantCulture, $"{Prefix}{Iterations}:{Base64Url.EncodeToString(_salt)}:{Base64Url.EncodeToString(_digest)}");

    /// <summary>
    /// Whether this is the password's hash. It takes as long for every password, and a good part of a second: never on a thread that
    /// others wait for.
    /// </summary>
    /// <param name="password">The password in UTF-8.</param>
    public bool Matches(ReadOnlySpan<byte> password)
    {
        Span<byte> digest = stackalloc byte[DigestLength];
        Rfc2898DeriveBytes.Pbkdf2(password, _salt, digest, Iterations, HashAlgorithmName.SHA256);
        return CryptographicOperations.FixedTimeEquals(digest, _digest);
    }

    /// <summary>Never the hash.</summary>
    public override string ToString() => nameof(PasswordHash);

    internal static bool AreIterations(uint number) => number is >= LeastIterations and <= MostIterations;

    private static byte[]? Decode(ReadOnlySpan<char> text)
    {
        var bytes = new byte[DigestLength + 1];
        return text.Length <= 64 && Base64Url.IsValid(text) && Base64Url.TryDecodeFromChars(text, bytes, out var length)
            ? bytes[..length]
            : null;
    }
}
