using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>The key of an account: ES256 (RFC 7518 section 3.4). Used by one task at a time.</summary>
internal sealed class AcmeKey : IDisposable
{
    private readonly ECDsa _key;

    private AcmeKey(ECDsa key)
    {
        _key = key;
        var point = key.ExportParameters(includePrivateParameters: false).Q;

        // RFC 7638: these members in this order, without spaces.
        Jwk = $$"""{"crv":"P-256","kty":"EC","x":"{{Text(point.X!)}}","y":"{{Text(point.Y!)}}"}""";
        Thumbprint = Text(SHA256.HashData(Encoding.ASCII.GetBytes(Jwk)));
    }

    /// <summary>The public key as JSON.</summary>
    public string Jwk { get; }

    /// <summary>The key's fingerprint, as challenges have it.</summary>
    public string Thumbprint { get; }

    /// <summary>Makes a key.</summary>
    public static AcmeKey Create() => new(ECDsa.Create(ECCurve.NamedCurves.nistP256));

    /// <summary>Reads a key.</summary>
    /// <exception cref="CryptographicException">It is not a key for ES256.</exception>
    /// <exception cref="ArgumentException">It is not PEM.</exception>
    public static AcmeKey FromPem(string pem)
    {
        var key = ECDsa.Create();
        try
        {
            key.ImportFromPem(pem);
            return key.KeySize == 256 ? new AcmeKey(key) : throw new CryptographicException("The key is not of the curve P-256.");
        }
        catch
        {
            key.Dispose();
            throw;
        }
    }

    /// <summary>The private key: for its file alone.</summary>
    public string ExportPem() => _key.ExportPkcs8PrivateKeyPem();

    /// <summary>Signs, in base64url.</summary>
    public string Sign(string signed) => Text(_key.SignData(Encoding.ASCII.GetBytes(signed), HashAlgorithmName.SHA256));

    /// <summary>What proves a token to be ours (RFC 8555 section 8.1).</summary>
    public string Authorize(string token) => $"{token}.{Thumbprint}";

    /// <inheritdoc/>
    public void Dispose() => _key.Dispose();

    private static string Text(byte[] bytes) => Base64Url.EncodeToString(bytes);
}
