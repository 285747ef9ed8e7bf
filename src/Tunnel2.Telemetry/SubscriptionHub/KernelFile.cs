using System.Buffers.Text;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// A small text file of the kernel, such as those of <c>/proc</c> and of cgroups, read each time into a shared buffer, because an idle
/// process should allocate nothing each second. One thread at a time.
/// </summary>
/// <param name="path">The file; may be missing.</param>
/// <param name="buffer">Memory for the longest text; the rest of a longer one is ignored.</param>
internal sealed class KernelFile(string path, byte[] buffer)
{
    /// <summary>The text, valid until the next reading into the same buffer; empty when the file cannot be read.</summary>
    internal ReadOnlySpan<byte> Read()
    {
        if (!File.Exists(path))
        {
            return default; // Usual for a group without a quota, so without an exception each second.
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

    /// <summary>The number at the beginning of the file, or <paramref name="missing"/> if there is none.</summary>
    internal long ReadNumber(long missing) => Utf8Parser.TryParse(Read(), out long value, out _) ? value : missing;

    /// <summary>
    /// The number after the line's <paramref name="name"/> in a text of the kernel, in bytes if the line says kB; −1 without one.
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
