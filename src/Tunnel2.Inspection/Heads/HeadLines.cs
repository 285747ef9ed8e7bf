using System.Text;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Inspection.Heads;

/// <summary>A response's head of the wire as lines of HTTP/1.1.</summary>
internal static class HeadLines
{
    /// <summary>The lines of a head whose fields were found to be HTTP.</summary>
    public static byte[] Of(scoped in HeaderBlock block)
    {
        using var lines = new MemoryStream();
        lines.Write(Encoding.ASCII.GetBytes(FormattableString.Invariant($"HTTP/1.1 {block.Status} ")));
        lines.Write(block.ReasonPhrase);
        lines.Write("\r\n"u8);
        foreach (var field in block.Fields)
        {
            lines.Write(field.Name);
            lines.Write(": "u8);
            lines.Write(field.Value);
            lines.Write("\r\n"u8);
        }

        lines.Write("\r\n"u8);
        return lines.ToArray();
    }
}
