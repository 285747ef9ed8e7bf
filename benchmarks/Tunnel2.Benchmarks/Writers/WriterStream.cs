using System.Threading.Tasks.Sources;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>A producer's end: what it has lent to the writer, and its wait. The writer's lock guards it.</summary>
internal sealed class WriterStream(int slot) : IValueTaskSource
{
    private ManualResetValueTaskSourceCore<bool> _source = new() { RunContinuationsAsynchronously = true };
    private ReadOnlyMemory<byte> _payload;

    public StreamId Id { get; } = new(slot, 1);

    /// <summary>The bytes of the frame that is waiting.</summary>
    public int FrameLength => FrameHeader.Size + _payload.Length;

    /// <summary>Writes a whole frame.</summary>
    /// <returns>Its length.</returns>
    public static int WriteFrame(Span<byte> room, StreamId id, ReadOnlySpan<byte> payload)
    {
        new FrameHeader(payload.Length, FrameType.Data, FrameFlags.None, id).Write(room);
        payload.CopyTo(room[FrameHeader.Size..]);
        return FrameHeader.Size + payload.Length;
    }

    public ValueTask Begin(ReadOnlyMemory<byte> payload)
    {
        _payload = payload;
        _source.Reset();
        return new ValueTask(this, _source.Version);
    }

    public int CopyTo(Span<byte> room) => WriteFrame(room, Id, _payload.Span);

    /// <summary>Outside every lock.</summary>
    public void Complete() => _source.SetResult(true);

    /// <summary>Outside every lock.</summary>
    public void Fail(Exception exception) => _source.SetException(exception);

    void IValueTaskSource.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);
}
