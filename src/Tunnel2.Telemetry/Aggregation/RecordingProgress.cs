namespace Tunnel2.Telemetry.Aggregation;

/// <summary>How many bytes of a recording were read, by all threads together. Thread-safe.</summary>
internal sealed class RecordingProgress
{
    private long _bytes;

    internal long Bytes => Interlocked.Read(ref _bytes);

    internal void Add(long bytes) => Interlocked.Add(ref _bytes, bytes);
}
