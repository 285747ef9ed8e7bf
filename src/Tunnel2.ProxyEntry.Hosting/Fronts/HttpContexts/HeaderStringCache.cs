using System.Text;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// Strings for header names and values that are bytes: HttpContext wants strings, and most responses have the same few. A fixed table keeps
/// the last string for each hash. Entries are immutable, so racing threads at worst make a string twice. Long values are not kept.
/// </summary>
internal sealed class HeaderStringCache
{
    private const int Slots = 1024;
    private const int MaxLength = 64;

    private readonly Entry?[] _entries = new Entry?[Slots];

    public static HeaderStringCache Shared { get; } = new();

    public string Get(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty)
        {
            return "";
        }

        if (bytes.Length > MaxLength)
        {
            return Encoding.Latin1.GetString(bytes);
        }

        var hash = new HashCode();
        hash.AddBytes(bytes);
        ref var slot = ref _entries[hash.ToHashCode() & (Slots - 1)];
        var entry = slot;
        if (entry is not null && bytes.SequenceEqual(entry.Bytes))
        {
            return entry.Text;
        }

        var text = Encoding.Latin1.GetString(bytes);
        slot = new Entry(bytes.ToArray(), text);
        return text;
    }

    private sealed record Entry(byte[] Bytes, string Text);
}
