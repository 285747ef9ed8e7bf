using System.Buffers.Text;
using System.Text;
using System.Text.Json;
using Microsoft.IdentityModel.JsonWebTokens;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>
/// Whether the parts of a token are JSON of the form that the standard gives them (RFC 7519, 2 and 4.1). The library takes a text for a
/// number and a number for a text, and ends reading where the claims end; a service may read the same token in another way. Stateless.
/// </summary>
internal static class TokenClaims
{
    private static readonly string[] _texts = ["iss", "sub"];
    private static readonly string[] _times = ["exp", "nbf", "iat"];

    /// <summary>Whether they are.</summary>
    /// <exception cref="FormatException">A part is not Base64url.</exception>
    /// <exception cref="JsonException">A part is not JSON, or has something after it.</exception>
    public static bool AreWellFormed(JsonWebToken token)
    {
        using var header = Read(token.EncodedHeader);
        using var claims = Read(token.EncodedPayload);
        return header.RootElement.ValueKind == JsonValueKind.Object
            && claims.RootElement is { ValueKind: JsonValueKind.Object } all
            && Array.TrueForAll(_texts, name => !all.TryGetProperty(name, out var value) || value.ValueKind == JsonValueKind.String)
            && Array.TrueForAll(_times, name => !all.TryGetProperty(name, out var value) || value.ValueKind == JsonValueKind.Number)
            && (!all.TryGetProperty("aud", out var audience) || IsAudience(audience));
    }

    private static JsonDocument Read(string part) => JsonDocument.Parse(Base64Url.DecodeFromUtf8(Encoding.ASCII.GetBytes(part)));

    private static bool IsAudience(JsonElement audience) => audience.ValueKind == JsonValueKind.String
        || (audience.ValueKind == JsonValueKind.Array
            && audience.EnumerateArray().All(static one => one.ValueKind == JsonValueKind.String));
}
