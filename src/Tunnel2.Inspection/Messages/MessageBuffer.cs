namespace Tunnel2.Inspection.Messages;

/// <summary>The beginning of a message that is still arriving, up to a limit. What it holds is reserved before. Not thread-safe.</summary>
internal sealed class MessageBuffer(IMessageSink sink, int limit)
{
    private const int Smallest = 256;

    private byte[] _bytes = [];
    private int _count;

    /// <summary>The bytes that were kept.</summary>
    public Span<byte> Kept => _bytes.AsSpan(0, _count);

    /// <summary>How many bytes the message has so far.</summary>
    public long Length { get; private set; }

    /// <summary>Adds bytes; those beyond the limit are counted only.</summary>
    /// <returns>The place of those that were kept.</returns>
    public Span<byte> Append(ReadOnlySpan<byte> data)
    {
        Length += data.Length;
        var count = Math.Min(data.Length, limit - _count);
        if (_count + count > _bytes.Length && !TryGrow(_count + count))
        {
            count = _bytes.Length - _count;
        }

        data[..count].CopyTo(_bytes.AsSpan(_count));
        var place = _bytes.AsSpan(_count, count);
        _count += count;
        return place;
    }

    /// <summary>The message is over: the buffer is given back, because most connections are silent most of the time.</summary>
    public void Reset()
    {
        if (_bytes.Length > 0)
        {
            sink.Free(_bytes.Length);
            _bytes = [];
        }

        _count = 0;
        Length = 0;
    }

    private bool TryGrow(int needed)
    {
        var size = Math.Min(limit, Math.Max(Math.Max(needed, Smallest), 2 * _bytes.Length));
        if (!sink.TryReserve(size))
        {
            return false;
        }

        var grown = new byte[size];
        Kept.CopyTo(grown);
        if (_bytes.Length > 0)
        {
            sink.Free(_bytes.Length);
        }

        _bytes = grown;
        return true;
    }
}
