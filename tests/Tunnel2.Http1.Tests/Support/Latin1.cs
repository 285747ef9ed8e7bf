using System.Text;

namespace Tunnel2.Http1.Tests.Support;

/// <summary>Messages as text with one character per byte, so that every byte can be written in a test.</summary>
internal static class Latin1
{
    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    public static string Text(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);
}
