using System.Buffers;

namespace Tunnel2.Protocol.Handshake;

/// <summary>A visitor that may log in with a password. Immutable.</summary>
/// <param name="Name">The user's name; see <see cref="IsName"/>.</param>
/// <param name="Hash">The hash of the password.</param>
public sealed record AccessUser(string Name, PasswordHash Hash)
{
    /// <summary>The longest name.</summary>
    public const int MaxNameLength = 64;

    private static readonly SearchValues<char> _characters = SearchValues.Create(
        "!#$%&'()*+-./0123456789;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~");

    /// <summary>
    /// Whether a text can be a user's name: 1 to 64 visible ASCII characters, none of them a colon, a comma, a quote or a backslash. So it
    /// can be the value of a field as it is.
    /// </summary>
    public static bool IsName(ReadOnlySpan<char> text) => text.Length is > 0 and <= MaxNameLength && !text.ContainsAnyExcept(_characters);

    /// <summary>Reads <c>user:HASH</c>, where the hash is the text form of a <see cref="PasswordHash"/>.</summary>
    /// <param name="text">The text.</param>
    /// <param name="user">The user, or null.</param>
    public static bool TryParse(ReadOnlySpan<char> text, out AccessUser? user)
    {
        user = null;
        var colon = text.IndexOf(':');
        if (colon < 0 || !IsName(text[..colon]) || !PasswordHash.TryParse(text[(colon + 1)..], out var hash))
        {
            return false;
        }

        user = new AccessUser(text[..colon].ToString(), hash!);
        return true;
    }

    /// <summary>The name, never the hash.</summary>
    public override string ToString() => Name;
}
