using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// A visitor's bytes, read in turns. A reader that has read its share without any wait continues after the other connections of the engine.
/// For pipes that do not take turns themselves, as the event loop's do: Kestrel's, and TLS over any pipe.
/// </summary>
internal sealed class TurnTakingInput(PipeReader inner, PipeScheduler turns) : PipeReader
{
    private WorkTurn _turn;
    private ReadOnlySequence<byte> _shown;

    /// <inheritdoc/>
    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        if (_turn.IsOver)
        {
            _turn.Begin();
            return ReadInTurnAsync(cancellationToken);
        }

        var reading = inner.ReadAsync(cancellationToken);
        if (!reading.IsCompletedSuccessfully)
        {
            _turn.Begin();
            return WaitAsync(reading);
        }

        var read = reading.Result;
        _shown = read.Buffer;
        return new ValueTask<ReadResult>(read);
    }

    /// <inheritdoc/>
    public override bool TryRead(out ReadResult result)
    {
        var any = inner.TryRead(out result);
        _shown = any ? result.Buffer : default;
        return any;
    }

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        _turn.Add(_shown.IsEmpty ? 0 : _shown.Slice(0, consumed).Length);
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
    private async ValueTask<ReadResult> WaitAsync(ValueTask<ReadResult> reading)
    {
        var read = await reading.ConfigureAwait(false);
        _shown = read.Buffer;
        return read;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ReadResult> ReadInTurnAsync(CancellationToken cancellationToken)
    {
        await new SchedulerYield(turns);
        var read = await inner.ReadAsync(cancellationToken).ConfigureAwait(false);
        _shown = read.Buffer;
        return read;
    }
}
