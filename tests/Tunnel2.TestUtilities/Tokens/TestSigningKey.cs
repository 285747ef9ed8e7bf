using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

namespace Tunnel2.TestUtilities.Tokens;

/// <summary>A key of an issuer of tokens: signs them, rightly or as an attacker would, without a library for tokens.</summary>
public sealed class TestSigningKey : IDisposable
{
    private readonly RSA? _rsa;
    private readonly ECDsa? _ec;

    private TestSigningKey(string id, RSA? rsa, ECDsa? ec) => (Id, _rsa, _ec) = (id, rsa, ec);

    /// <summary>The key's id.</summary>
    public string Id { get; }

    public static TestSigningKey Rsa(string id, int bits = 2048) => new(id, RSA.Create(bits), null);

    public static TestSigningKey Ec(string id, ECCurve curve) => new(id, null, ECDsa.Create(curve));

    /// <summary>The public part, as an issuer publishes it.</summary>
    /// <param name="members">Members to add or to replace.</param>
    public string ToJwk(params (string Name, string Value)[] members)
    {
        var jwk = new Dictionary<string, string> { ["kid"] = Id, ["use"] = "sig" };
        if (_rsa is not null)
        {
            var rsa = _rsa.ExportParameters(false);
            (jwk["kty"], jwk["n"], jwk["e"]) = ("RSA", Base64Url.EncodeToString(rsa.Modulus), Base64Url.EncodeToString(rsa.Exponent));
        }
        else
        {
            var ec = _ec!.ExportParameters(false);
            (jwk["kty"], jwk["crv"]) = ("EC", $"P-{_ec.KeySize}");
            (jwk["x"], jwk["y"]) = (Base64Url.EncodeToString(ec.Q.X), Base64Url.EncodeToString(ec.Q.Y));
        }

        foreach (var (name, value) in members)
        {
            jwk[name] = value;
        }

        return JsonSerializer.Serialize(jwk);
    }

    /// <summary>A document of keys.</summary>
    public static string ToSet(params string[] jwks) => $$"""{"keys":[{{string.Join(',', jwks)}}]}""";

    /// <summary>Signs a token.</summary>
    /// <param name="algorithm">One of RS, PS and ES with 256, 384 or 512.</param>
    /// <param name="claims">The claims.</param>
    /// <param name="header">Members of the header to add or to replace; null as a value leaves one out.</param>
    public string Sign(
        string algorithm, IReadOnlyDictionary<string, object> claims, params (string Name, object? Value)[] header) =>
        SignContent(algorithm, ContentOf(algorithm, claims, [("kid", Id), .. header]));

    /// <summary>Signs a token with claims of any text.</summary>
    public string SignText(string algorithm, string claims)
    {
        var header = Encode(new Dictionary<string, object> { ["alg"] = algorithm, ["typ"] = "JWT", ["kid"] = Id });
        return SignContent(algorithm, $"{header}.{Base64Url.EncodeToString(Encoding.UTF8.GetBytes(claims))}");
    }

    /// <summary>A token with a signature of any bytes.</summary>
    public static string Forge(
        string algorithm, IReadOnlyDictionary<string, object> claims, Func<byte[], byte[]> sign,
        params (string Name, object? Value)[] header)
    {
        var content = ContentOf(algorithm, claims, header);
        return $"{content}.{Base64Url.EncodeToString(sign(Encoding.ASCII.GetBytes(content)))}";
    }

    /// <summary>The public key as a file would have it: what an attacker takes for a shared secret.</summary>
    public byte[] ToPublicPem() => Encoding.ASCII.GetBytes(_rsa!.ExportSubjectPublicKeyInfoPem());

    public void Dispose()
    {
        _rsa?.Dispose();
        _ec?.Dispose();
    }

    private string SignContent(string algorithm, string content)
    {
        var bytes = Encoding.ASCII.GetBytes(content);
        var hash = new HashAlgorithmName("SHA" + algorithm[2..]);
        var signature = algorithm[0] switch
        {
            'R' => _rsa!.SignData(bytes, hash, RSASignaturePadding.Pkcs1),
            'P' => _rsa!.SignData(bytes, hash, RSASignaturePadding.Pss),
            _ => _ec!.SignData(bytes, hash),
        };
        return $"{content}.{Base64Url.EncodeToString(signature)}";
    }

    private static string ContentOf(
        string algorithm, IReadOnlyDictionary<string, object> claims, (string Name, object? Value)[] members)
    {
        var header = new Dictionary<string, object> { ["alg"] = algorithm, ["typ"] = "JWT" };
        foreach (var (name, value) in members)
        {
            header.Remove(name);
            if (value is not null)
            {
                header[name] = value;
            }
        }

        return $"{Encode(header)}.{Encode(claims)}";
    }

    private static string Encode(object value) => Base64Url.EncodeToString(JsonSerializer.SerializeToUtf8Bytes(value));
}
