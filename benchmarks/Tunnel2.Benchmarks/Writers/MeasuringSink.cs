using System.Buffers.Binary;
using System.Diagnostics;
using Tunnel2.Protocol.Frames;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>
/// Counts flushes and bytes, and takes from each frame the moment at which its producer had it ready (the first eight bytes of its
/// payload): on the wire is when the send that carries its start has returned.
/// </summary>
internal sealed class MeasuringSink(IFrameSink inner) : IFrameSink
{
    private const int Seen = FrameHeader.Size + sizeof(long);

    private readonly byte[] _start = new byte[Seen];
    private readonly LogLinearHistogram _latencies = new();
    private TaskCompletionSource _all = new();
    private int _have;
    private int _skip;
    private long _expected;
    private long _frames;

    public long Flushes { get; private set; }

    public long Bytes { get; private set; }

    /// <summary>The time within which a share of all frames was on the wire.</summary>
    public TimeSpan Latency(double share) => TimeSpan.FromSeconds((double)_latencies.Quantile(share) / Stopwatch.Frequency);

    /// <summary>Completes when so many frames more are on the wire.</summary>
    public Task ExpectAsync(long frames)
    {
        _all = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _expected = _frames + frames;
        return _all.Task;
    }

    public async ValueTask SendAsync(ReadOnlyMemory<byte> bytes)
    {
        await inner.SendAsync(bytes).ConfigureAwait(false);
        Flushes++;
        Bytes += bytes.Length;
        Scan(bytes.Span);
        if (_frames == _expected)
        {
            _all.TrySetResult();
        }
    }

    public ValueTask DisposeAsync() => inner.DisposeAsync();

    private void Scan(ReadOnlySpan<byte> bytes)
    {
        var now = Stopwatch.GetTimestamp();
        while (!bytes.IsEmpty)
        {
            var skipped = Math.Min(_skip, bytes.Length);
            _skip -= skipped;
            bytes = bytes[skipped..];
            var taken = Math.Min(Seen - _have, bytes.Length);
            bytes[..taken].CopyTo(_start.AsSpan(_have));
            bytes = bytes[taken..];
            _have += taken;
            if (_have == Seen)
            {
                FrameHeader.TryRead(_start, out var header);
                _skip = header.Length - sizeof(long);
                _have = 0;
                _frames++;
                var ready = BinaryPrimitives.ReadInt64LittleEndian(_start.AsSpan(FrameHeader.Size));
                _latencies.Add((uint)Math.Clamp(now - ready, 0, uint.MaxValue));
            }
        }
    }
}
