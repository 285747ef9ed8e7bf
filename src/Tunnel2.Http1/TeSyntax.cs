using System.Text;
using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>The value of TE; only <c>trailers</c> crosses the tunnel.</summary>
internal static class TeSyntax
{
    /// <summary>The value that is sent instead of one that names trailers.</summary>
    public static ReadOnlySpan<byte> Trailers => "trailers"u8;

    /// <summary>Whether the value names trailers, alone or among transfer codings.</summary>
    public static bool WantsTrailers(ReadOnlySpan<byte> value)
    {
        var list = new ListReader(value);
        while (list.TryRead(out ReadOnlySpan<byte> coding))
        {
            if (Ascii.EqualsIgnoreCase(coding, Trailers))
            {
                return true;
            }
        }

        return false;
    }
}
