using System.Buffers;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Access.Oidc;

/// <summary>
/// The cookie of a session, and those of a sign-in under way, among the others of a request. None of them reaches a service: one without
/// the gate could keep it, and use it at the tunnel that it is for. Never throws.
/// </summary>
internal static class SignInCookie
{
    /// <summary>The name. Browsers take a cookie with this prefix over HTTPS only and for one host: no other tunnel can set it.</summary>
    public const string Name = "__Host-tunnel2";

    /// <summary>The longest value that is read.</summary>
    public const int LongestValue = 4 * 1024;

    private static readonly SearchValues<byte> _characters =
        SearchValues.Create("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"u8);

    private static ReadOnlySpan<byte> Prefix => "__Host-tunnel2="u8;

    /// <summary>How the names of all the server's own cookies begin.</summary>
    private static ReadOnlySpan<byte> OwnNames => "__Host-tunnel2"u8;

    /// <summary>The value of the cookie; empty: there is none, or it cannot be one.</summary>
    /// <param name="cookies">The value of <c>Cookie</c>.</param>
    public static ReadOnlySpan<byte> Find(ReadOnlySpan<byte> cookies)
    {
        while (!cookies.IsEmpty)
        {
            var pair = Next(ref cookies);
            if (pair.StartsWith(Prefix))
            {
                var value = pair[Prefix.Length..];
                return value.Length <= LongestValue && !value.ContainsAnyExcept(_characters) ? value : default;
            }
        }

        return default;
    }

    /// <summary>Whether there may be one of the server's own.</summary>
    /// <param name="cookies">The value of <c>Cookie</c>.</param>
    public static bool MayBeIn(ReadOnlySpan<byte> cookies) => cookies.IndexOf(OwnNames) >= 0;

    /// <inheritdoc cref="MayBeIn(ReadOnlySpan{byte})"/>
    public static bool MayBeIn(string cookies) => cookies.Contains(Name, StringComparison.Ordinal);

    /// <summary>Copies all cookies but the server's own.</summary>
    /// <param name="cookies">The value of <c>Cookie</c>.</param>
    /// <param name="destination">Room for twice as many bytes: a visitor may leave out the spaces between them.</param>
    /// <returns>How many bytes were written.</returns>
    public static int CopyOthers(ReadOnlySpan<byte> cookies, Span<byte> destination)
    {
        var written = 0;
        while (!cookies.IsEmpty)
        {
            var pair = Next(ref cookies);
            if (pair.IsEmpty || pair.StartsWith(OwnNames))
            {
                continue;
            }

            if (written > 0)
            {
                "; "u8.CopyTo(destination[written..]);
                written += 2;
            }

            pair.CopyTo(destination[written..]);
            written += pair.Length;
        }

        return written;
    }

    /// <summary>Writes all cookies but the server's own as a field, unless there are none.</summary>
    /// <param name="writer">Where to.</param>
    /// <param name="name">The field's name, as the visitor wrote it.</param>
    /// <param name="cookies">Its value.</param>
    public static void WriteOthers(ref HeaderBlockWriter writer, scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> cookies)
    {
        var room = ArrayPool<byte>.Shared.Rent(2 * cookies.Length);
        var length = CopyOthers(cookies, room);
        if (length > 0)
        {
            writer.AddField(name, room.AsSpan(0, length));
        }

        room.AsSpan(0, length).Clear();
        ArrayPool<byte>.Shared.Return(room);
    }

    private static ReadOnlySpan<byte> Next(scoped ref ReadOnlySpan<byte> cookies)
    {
        var end = cookies.IndexOf((byte)';');
        var pair = (end < 0 ? cookies : cookies[..end]).Trim((byte)' ');
        cookies = end < 0 ? default : cookies[(end + 1)..];
        return pair;
    }
}
