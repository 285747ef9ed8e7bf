using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.Transport.Tls;

/// <summary>
/// The SHA-256 of a whole certificate (its DER form), written <c>sha256:</c> and 64 hexadecimal digits: the number that
/// <c>openssl x509 -noout -fingerprint -sha256</c> prints. Immutable; equal by value.
/// </summary>
internal sealed class CertificateFingerprint : IEquatable<CertificateFingerprint>
{
    private const string Prefix = "sha256:";
    private readonly byte[] _hash;

    private CertificateFingerprint(byte[] hash) => _hash = hash;

    public static CertificateFingerprint Of(X509Certificate certificate) => new(certificate.GetCertHash(HashAlgorithmName.SHA256));

    /// <summary>Parses 64 hexadecimal digits, with or without <c>sha256:</c> in front and colons between.</summary>
    public static bool TryParse(string? text, [NotNullWhen(true)] out CertificateFingerprint? fingerprint)
    {
        fingerprint = null;
        var digits = (text ?? "").Trim();
        if (digits.StartsWith(Prefix, StringComparison.OrdinalIgnoreCase))
        {
            digits = digits[Prefix.Length..];
        }

        // openssl writes pairs with colons; a colon in any other place is a mistake.
        if (digits.Length == (SHA256.HashSizeInBytes * 3) - 1)
        {
            for (var i = 2; i < digits.Length; i += 3)
            {
                if (digits[i] != ':')
                {
                    return false;
                }
            }

            digits = digits.Replace(":", "", StringComparison.Ordinal);
        }

        var hash = new byte[SHA256.HashSizeInBytes];
        if (digits.Length != hash.Length * 2 || Convert.FromHexString(digits, hash, out _, out _) != OperationStatus.Done)
        {
            return false;
        }

        fingerprint = new CertificateFingerprint(hash);
        return true;
    }

    /// <inheritdoc/>
    public bool Equals(CertificateFingerprint? other) => other is not null && CryptographicOperations.FixedTimeEquals(_hash, other._hash);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as CertificateFingerprint);

    /// <inheritdoc/>
    public override int GetHashCode() => BitConverter.ToInt32(_hash);

    /// <summary>The text that <see cref="TryParse"/> reads.</summary>
    public override string ToString() => Prefix + Convert.ToHexStringLower(_hash);
}
