using System.Security.Cryptography;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>What the sealed cookie of a visitor says. Immutable.</summary>
/// <param name="Id">A random number, by which it can be ended.</param>
/// <param name="Email">The user.</param>
/// <param name="Groups">Those groups that count at the gate.</param>
/// <param name="Until">When it ends, in seconds since 1970.</param>
internal sealed record OidcSession(string Id, string Email, string[] Groups, long Until)
{
    private const int IdBytes = 16;

    /// <summary>Begins a session.</summary>
    public static OidcSession Begin(string email, string[] groups, DateTimeOffset until) =>
        new(Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(IdBytes)), email, groups, until.ToUnixTimeSeconds());

    /// <summary>The session as bytes, to be sealed.</summary>
    public byte[] ToBytes() => JsonSerializer.SerializeToUtf8Bytes(this, OidcSessionJson.Default.OidcSession);

    /// <summary>Reads what was sealed; null when it is something else.</summary>
    public static OidcSession? TryRead(byte[] bytes)
    {
        try
        {
            var read = JsonSerializer.Deserialize(bytes, OidcSessionJson.Default.OidcSession);
            return read is { Id: not null, Email: not null, Groups: not null } ? read : null;
        }
        catch (JsonException)
        {
            return null;
        }
    }
}

/// <summary>The form of a session.</summary>
[JsonSerializable(typeof(OidcSession))]
internal sealed partial class OidcSessionJson : JsonSerializerContext;
