using System.Text;
using System.Text.Unicode;

namespace Tunnel2.Inspection.Heads;

/// <summary>Bytes of a peer as text. Nothing is lost: what is not UTF-8 is read byte for byte.</summary>
internal static class HeadText
{
    /// <summary>The text of bytes: UTF-8 where they are, otherwise Latin-1.</summary>
    public static string Of(ReadOnlySpan<byte> bytes) =>
        Utf8.IsValid(bytes) ? Encoding.UTF8.GetString(bytes) : Encoding.Latin1.GetString(bytes);

    /// <summary>The bytes of a text that a person wrote.</summary>
    public static byte[] Bytes(string text) => Encoding.UTF8.GetBytes(text);
}
