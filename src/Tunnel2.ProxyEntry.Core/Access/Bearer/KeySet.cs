using System.Text.Json;
using Microsoft.IdentityModel.Tokens;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>The public keys of an issuer that can check signatures. Immutable.</summary>
internal sealed class KeySet
{
    /// <summary>How many keys a document may have.</summary>
    private const int MostKeys = 100;

    /// <summary>How many keys are tried for one token, where it does not say which one, or several have the same name.</summary>
    private const int MostTries = 8;

    private const int ShortestRsa = 2048;
    private const int LongestRsa = 8192;

    private readonly JsonWebKey[] _keys;
    private readonly byte[] _document;

    private KeySet(JsonWebKey[] keys, byte[] document)
    {
        _keys = keys;
        _document = document;
    }

    /// <summary>How many keys there are.</summary>
    public int Count => _keys.Length;

    /// <summary>Reads a document of keys (JWKS, RFC 7517).</summary>
    /// <param name="document">The document. It is kept.</param>
    /// <exception cref="KeyFetchException">It is none, or has no key that can check a signature.</exception>
    public static KeySet Parse(byte[] document)
    {
        JsonWebKey[] keys = [];
        try
        {
            using var json = JsonDocument.Parse(document);
            if (json.RootElement.TryGetProperty("keys", out var all))
            {
                if (all.GetArrayLength() > MostKeys)
                {
                    throw new KeyFetchException($"there are more than {MostKeys} keys");
                }

                keys = [.. all.EnumerateArray().Select(static one => Read(one)).OfType<JsonWebKey>().Where(static key => CanCheck(key))];
            }
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException)
        {
            throw new KeyFetchException("the keys are not a JSON Web Key Set", exception);
        }

        return keys.Length == 0 ? throw new KeyFetchException("none of the keys can check a signature") : new KeySet(keys, document);
    }

    /// <summary>Whether both were read from the same bytes.</summary>
    public bool IsSameAs(KeySet? other) => other is not null && _document.AsSpan().SequenceEqual(other._document);

    /// <summary>The keys that may have signed a token; empty: none.</summary>
    /// <param name="id">The key that the token names; empty: none.</param>
    /// <param name="algorithm">Its algorithm.</param>
    public IReadOnlyList<SecurityKey> Find(string id, string algorithm) =>
        [.. _keys.Where(key => (id.Length == 0 || key.Kid == id) && Suits(key, algorithm)).Take(MostTries)];

    /// <summary>Reads one key of the set. What cannot be read as one spoils no other (RFC 7517, 5).</summary>
    private static JsonWebKey? Read(JsonElement one)
    {
        // The library reads operations of another form, and an empty list of them, as if there were none.
        if (one.ValueKind != JsonValueKind.Object || (one.TryGetProperty("key_ops", out var operations) && !AreOperations(operations)))
        {
            return null;
        }

        try
        {
            return new JsonWebKey(one.GetRawText());
        }
        catch (Exception exception) when (exception is ArgumentException or JsonException or FormatException)
        {
            return null;
        }
    }

    private static bool AreOperations(JsonElement operations) => operations.ValueKind == JsonValueKind.Array
        && operations.GetArrayLength() > 0
        && operations.EnumerateArray().All(static one => one.ValueKind == JsonValueKind.String);

    /// <summary>
    /// A key of a kind with which a signature cannot be made by those who know the public part, and that is for signatures (RFC 7517, 4.2
    /// and 4.3).
    /// </summary>
    private static bool CanCheck(JsonWebKey key)
    {
        if (key.Use is not (null or "sig") || (key.KeyOps.Count > 0 && !key.KeyOps.Contains("verify")))
        {
            return false;
        }

        try
        {
            return key.Kty == "RSA" ? !string.IsNullOrEmpty(key.E) && key.KeySize is >= ShortestRsa and <= LongestRsa
                : key.Kty == "EC" && key.Crv is "P-256" or "P-384" or "P-521" && !string.IsNullOrEmpty(key.X)
                    && !string.IsNullOrEmpty(key.Y);
        }
        catch (FormatException)
        {
            return false;
        }
    }

    private static bool Suits(JsonWebKey key, string algorithm) =>
        (string.IsNullOrEmpty(key.Alg) || key.Alg == algorithm) && algorithm switch
        {
            "ES256" => key.Crv == "P-256",
            "ES384" => key.Crv == "P-384",
            "ES512" => key.Crv == "P-521",
            _ => key.Kty == "RSA",
        };
}
