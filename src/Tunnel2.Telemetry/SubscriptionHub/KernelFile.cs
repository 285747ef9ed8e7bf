using System.Buffers.Text;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// A small text file of the kernel's, as those of <c>/proc</c> and of cgroups, read anew each time into a buffer that several share: what
/// an idle process does each second is what it allocates overnight. One thread at a time.
/// </summary>
/// <param name="path">The file; may be missing.</param>
/// <param name="buffer">Room for the longest text; the rest of a longer one is not seen.</param>
internal sealed class KernelFile(string path, byte[] buffer)
{
    /// <summary>The text, valid until the next reading into the same buffer; empty when the file cannot be read.</summary>
    internal ReadOnlySpan<byte> Read()
    {
        if (!File.Exists(path))
        {
            return default; // As a group without a quota is: no reason for an exception each second.
        }

        try
        {
            using var file = File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            int length = 0;
            for (int read = -1; read != 0 && length < buffer.Length; length += read)
            {
                read = RandomAccess.Read(file, buffer.AsSpan(length), length);
            }

            return buffer.AsSpan(0, length);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return default;
        }
    }

    /// <summary>The number that the file begins with, or <paramref name="missing"/> when it is none.</summary>
    internal long ReadNumber(long missing) => Utf8Parser.TryParse(Read(), out long value, out _) ? value : missing;

    /// <summary>
    /// The number behind the line's <paramref name="name"/> in a text of the kernel's, in bytes where the line says kB; −1 without one.
    /// </summary>
    internal static long Field(ReadOnlySpan<byte> text, ReadOnlySpan<byte> name)
    {
        while (!text.IsEmpty)
        {
            int end = text.IndexOf((byte)'\n');
            ReadOnlySpan<byte> line = end < 0 ? text : text[..end];
            text = end < 0 ? default : text[(end + 1)..];
            if (line.Length > name.Length && line.StartsWith(name) && line[name.Length] is (byte)' ' or (byte)'\t')
            {
                ReadOnlySpan<byte> rest = line[name.Length..].Trim(" \t"u8);
                if (Utf8Parser.TryParse(rest, out long value, out int digits))
                {
                    return rest[digits..].TrimStart((byte)' ').SequenceEqual("kB"u8) ? value * 1024 : value;
                }
            }
        }

        return -1;
    }
}
