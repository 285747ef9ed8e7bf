using System.Buffers.Text;

namespace Tunnel2.ProxyEntry.Fronts;

/// <summary>
/// Through how many tunnels a request has come, as the parameter <c>by</c> of <c>Forwarded</c> says it (RFC 7239 section 5.1: a name of the
/// proxy's own choice): <c>_tunnel2</c>, and after a further one <c>_tunnel2.2</c>. An agent that forwards to the public address of a
/// tunnel sends each request round in a loop, and this ends it. Any Tunnel2 counts: a loop may lead through several servers.
/// </summary>
internal static class TunnelCount
{
    /// <summary>So many tunnels in a row have a purpose. One more is a loop.</summary>
    public const int Most = 10;

    /// <summary>The name.</summary>
    public const string Name = "_tunnel2";

    private static ReadOnlySpan<byte> Mark => "by=_tunnel2"u8;

    private static ReadOnlySpan<byte> QuotedMark => "by=\"_tunnel2"u8;

    /// <summary>The parameter, with the semicolon before it.</summary>
    /// <param name="tunnels">How many tunnels, this one included.</param>
    public static string Text(int tunnels) =>
        tunnels == 1 ? $";by={Name}" : FormattableString.Invariant($";by={Name}.{tunnels}");

    /// <summary>The largest number in a value of <c>Forwarded</c>; 0 where no tunnel is named.</summary>
    /// <param name="forwarded">The value.</param>
    public static int Read(ReadOnlySpan<byte> forwarded) => Math.Max(Read(forwarded, Mark), Read(forwarded, QuotedMark));

    private static int Read(ReadOnlySpan<byte> value, ReadOnlySpan<byte> mark)
    {
        var most = 0;
        for (var at = value.IndexOf(mark); at >= 0; at = value.IndexOf(mark))
        {
            value = value[(at + mark.Length)..];
            var count = 0;
            _ = value is [(byte)'.', ..] && Utf8Parser.TryParse(value[1..], out count, out _);
            most = Math.Max(most, Math.Max(count, 1));
        }

        return most;
    }
}
