using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Http2.Frames;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>The visitor's bytes on their way to Kestrel: each is looked at once. For one reader.</summary>
internal sealed class Http2LinkInput(Http2Link link, PipeReader inner) : PipeReader
{
    private readonly Http2FrameScanner _frames = new(Http2Frames.Preface.Length);
    private ReadOnlySequence<byte> _shown;
    private long _seen;
    private bool _hasEnded;

    /// <inheritdoc/>
    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        if (_hasEnded || link.IsRefused)
        {
            return new ValueTask<ReadResult>(End());
        }

        var reading = inner.ReadAsync(cancellationToken);
        return reading.IsCompletedSuccessfully ? new ValueTask<ReadResult>(Look(reading.Result)) : WaitAsync(reading);
    }

    /// <inheritdoc/>
    public override bool TryRead(out ReadResult result)
    {
        if (_hasEnded || link.IsRefused)
        {
            result = End();
            return true;
        }

        if (!inner.TryRead(out result))
        {
            return false;
        }

        result = Look(result);
        return true;
    }

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        if (_hasEnded)
        {
            // The reader was given the end in place of what had come.
            return;
        }

        _seen -= _shown.Slice(0, consumed).Length;
        _shown = default;
        inner.AdvanceTo(consumed, examined);
    }

    /// <inheritdoc/>
    public override void CancelPendingRead() => inner.CancelPendingRead();

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    /// <inheritdoc/>
    public override ValueTask CompleteAsync(Exception? exception = null) => inner.CompleteAsync(exception);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ReadResult> WaitAsync(ValueTask<ReadResult> reading) => Look(await reading.ConfigureAwait(false));

    private ReadResult Look(ReadResult read)
    {
        _shown = read.Buffer;
        foreach (var piece in read.Buffer.Slice(_seen))
        {
            link.OnReceived(_frames, piece.Span);
        }

        _seen = read.Buffer.Length;
        if (!link.IsRefused)
        {
            return read;
        }

        inner.AdvanceTo(read.Buffer.End);
        return End();
    }

    private ReadResult End()
    {
        _hasEnded = true;
        return new ReadResult(ReadOnlySequence<byte>.Empty, isCanceled: false, isCompleted: true);
    }
}
