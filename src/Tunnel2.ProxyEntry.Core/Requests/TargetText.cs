namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The parts of a request's target and Host that may be recorded. Queries, and fragments if a visitor sends one, carry secrets. Stateless.
/// </summary>
internal static class TargetText
{
    /// <summary>The length of the part before query and fragment.</summary>
    public static int LengthWithoutQuery(ReadOnlySpan<byte> target)
    {
        var end = target.IndexOfAny((byte)'?', (byte)'#');
        return end < 0 ? target.Length : end;
    }

    /// <summary>The part before query and fragment.</summary>
    public static string WithoutQuery(string target)
    {
        var end = target.AsSpan().IndexOfAny('?', '#');
        return end < 0 ? target : target[..end];
    }

    /// <summary>A Host without user name and password. Such a Host is refused, and reported without them.</summary>
    public static string WithoutUserInfo(string authority)
    {
        var at = authority.LastIndexOf('@');
        return at < 0 ? authority : authority[(at + 1)..];
    }
}
