using System.Buffers.Binary;
using System.Security.Cryptography;
using System.Text;
using Microsoft.AspNetCore.DataProtection;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>
/// Seals sign-ins and their sessions with keys that follow from the secret of the cluster: a browser may come to any node in the middle of
/// a sign-in, and its session may be at several nodes. The number of the key comes first. Thread-safe.
/// </summary>
/// <param name="secret">What all nodes of the cluster have in common.</param>
/// <param name="period">How long a key seals; what it has sealed is opened for as long again.</param>
/// <param name="time">The clock. Those of nodes may differ by a period.</param>
/// <param name="purposes">What it seals for.</param>
internal sealed class ClusterProtection(byte[] secret, TimeSpan period, TimeProvider time, string purposes = "") : IDataProtector
{
    private const string Kind = "sign-in";
    private const int KeyLength = 32;

    /// <inheritdoc/>
    public IDataProtector CreateProtector(string purpose) =>
        new ClusterProtection(secret, period, time, FormattableString.Invariant($"{purposes}{purpose.Length}:{purpose}"));

    /// <inheritdoc/>
    public byte[] Protect(byte[] plaintext)
    {
        var number = Number();
        var prefix = new byte[sizeof(uint)];
        BinaryPrimitives.WriteUInt32BigEndian(prefix, number);
        return [.. prefix, .. KeyOf(number).Seal(Kind, purposes, plaintext)];
    }

    /// <inheritdoc/>
    /// <exception cref="CryptographicException">It was not sealed with this secret for this, or too long ago.</exception>
    public byte[] Unprotect(byte[] protectedData)
    {
        if (protectedData.Length < sizeof(uint))
        {
            throw new CryptographicException();
        }

        var number = BinaryPrimitives.ReadUInt32BigEndian(protectedData);
        return Math.Abs((long)number - Number()) <= 1
            ? KeyOf(number).Open(Kind, purposes, protectedData.AsSpan(sizeof(uint))) ?? throw new CryptographicException()
            : throw new CryptographicException();
    }

    private uint Number() => (uint)((time.GetUtcNow() - DateTimeOffset.UnixEpoch) / period);

    private SharedSecret KeyOf(uint number)
    {
        var name = Encoding.ASCII.GetBytes(FormattableString.Invariant($"tunnel2 sign-in {number}"));
        return new SharedSecret(HKDF.DeriveKey(HashAlgorithmName.SHA256, secret, KeyLength, info: name));
    }
}
