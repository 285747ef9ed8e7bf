namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// What of a request's target and Host may be recorded. Secrets travel in queries and, where a visitor sends one, in fragments. Stateless.
/// </summary>
internal static class TargetText
{
    /// <summary>How long the part is that stands before query and fragment.</summary>
    public static int LengthWithoutQuery(ReadOnlySpan<byte> target)
    {
        var end = target.IndexOfAny((byte)'?', (byte)'#');
        return end < 0 ? target.Length : end;
    }

    /// <summary>The part that stands before query and fragment.</summary>
    public static string WithoutQuery(string target)
    {
        var end = target.AsSpan().IndexOfAny('?', '#');
        return end < 0 ? target : target[..end];
    }

    /// <summary>
    /// A Host without the user and password that somebody put in front of it: such a Host is refused, and told of without them.
    /// </summary>
    public static string WithoutUserInfo(string authority)
    {
        var at = authority.LastIndexOf('@');
        return at < 0 ? authority : authority[(at + 1)..];
    }
}
