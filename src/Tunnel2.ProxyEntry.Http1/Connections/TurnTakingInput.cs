using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// What a visitor sends, read in turns: whoever has read a share without ever having had to wait goes on behind the others of the engine.
/// Over pipes that do not see to it themselves, as those of the event loop do: Kestrel's, and TLS over any.
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
