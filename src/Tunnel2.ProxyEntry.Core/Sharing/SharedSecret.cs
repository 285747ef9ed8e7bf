using System.Security.Cryptography;
using System.Text;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>
/// Seals what nodes share and others must not read, such as private keys: AES-256-GCM with a key that HKDF derives from the secret of the
/// cluster. A sealed value is bound to its place: it cannot be opened as that of another key. Thread-safe.
/// </summary>
/// <param name="secret">What all nodes of the cluster have in common.</param>
internal sealed class SharedSecret(byte[] secret)
{
    /// <summary>Comes first, so that a later release can seal in another way.</summary>
    private const byte Form = 1;

    private const int NonceLength = 12;
    private const int TagLength = 16;
    private const int KeyLength = 32;

    private readonly byte[] _key = HKDF.DeriveKey(
        HashAlgorithmName.SHA256, secret, KeyLength, info: "tunnel2 shared documents"u8.ToArray());

    /// <summary>Seals a value: form, nonce, ciphertext, tag.</summary>
    /// <param name="kind">The kind of its document.</param>
    /// <param name="key">The key of its document.</param>
    /// <param name="value">The value.</param>
    public byte[] Seal(string kind, string key, ReadOnlySpan<byte> value)
    {
        var sealedValue = new byte[1 + NonceLength + value.Length + TagLength];
        sealedValue[0] = Form;
        var nonce = sealedValue.AsSpan(1, NonceLength);
        RandomNumberGenerator.Fill(nonce);
        using var aes = new AesGcm(_key, TagLength);
        aes.Encrypt(
            nonce, value, sealedValue.AsSpan(1 + NonceLength, value.Length), sealedValue.AsSpan(sealedValue.Length - TagLength),
            PlaceOf(kind, key));
        return sealedValue;
    }

    /// <summary>Opens a sealed value; null where it was changed, is of another place, or was sealed with another secret.</summary>
    public byte[]? Open(string kind, string key, ReadOnlySpan<byte> sealedValue)
    {
        if (sealedValue.Length < 1 + NonceLength + TagLength || sealedValue[0] != Form)
        {
            return null;
        }

        var value = new byte[sealedValue.Length - 1 - NonceLength - TagLength];
        using var aes = new AesGcm(_key, TagLength);
        try
        {
            aes.Decrypt(
                sealedValue.Slice(1, NonceLength), sealedValue.Slice(1 + NonceLength, value.Length), sealedValue[^TagLength..], value,
                PlaceOf(kind, key));
            return value;
        }
        catch (AuthenticationTagMismatchException)
        {
            return null;
        }
    }

    /// <summary>Makes a file with a new secret. One that is there stays.</summary>
    /// <returns>Whether it was made.</returns>
    /// <exception cref="IOException">It cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there.</exception>
    public static bool TryMakeFile(string path)
    {
        if (File.Exists(path))
        {
            return false;
        }

        OwnerOnlyFile.Replace(path, Encoding.ASCII.GetBytes(Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(KeyLength)) + "\n"));
        return true;
    }

    private static byte[] PlaceOf(string kind, string key) => Encoding.UTF8.GetBytes($"{kind}\n{key}");
}
