using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.Laboratory.Aggregation;

/// <summary>Records in memory, without event time. Not thread-safe.</summary>
internal sealed class MemorySource<T> : IRecordSource<T>
    where T : struct
{
    private readonly ReadOnlyMemory<T> _records;
    private readonly int _batchSize;
    private int _at;

    internal MemorySource(ReadOnlyMemory<T> records, int batchSize)
    {
        _records = records;
        _batchSize = batchSize;
    }

    public long Watermark => long.MinValue;

    public bool TryRead(out ReadOnlySpan<T> batch)
    {
        int count = Math.Min(_batchSize, _records.Length - _at);
        batch = _records.Span.Slice(_at, count);
        _at += count;
        return count > 0;
    }
}
