using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Sources;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// The visitor's direction of a stream on a node link, as a pipe: a request's body, or raw bytes after an upgrade. It shows one piece at a
/// time, in the stream's own memory. Credit returns to the entering node when a piece was consumed. One reader;
/// <see cref="CancelPendingRead"/> from any thread.
/// </summary>
internal sealed class NodeRequestBody : PipeReader, IValueTaskSource<bool>
{
    private readonly ShortLock _gate = new();
    private readonly Action _onReadable;
    private ManualResetValueTaskSourceCore<bool> _source;
    private ConfiguredValueTaskAwaitable<bool>.ConfiguredValueTaskAwaiter _awaiter;
    private TunnelStream _stream = null!;
    private ReadOnlySequence<byte> _shown;
    private TaskCompletionSource? _idle;
    private bool _isShownLast;
    private bool _isCompleted;
    private bool _isWaiting;
    private bool _isReading;
    private bool _isCancelled;

    public NodeRequestBody() => _onReadable = OnReadable;

    /// <summary>The block of trailers that ended the body, or null.</summary>
    public byte[]? Trailers { get; private set; }

    /// <summary>A request begins.</summary>
    /// <param name="stream">Its stream, whose head was consumed.</param>
    /// <param name="isEmpty">Whether nothing follows the head.</param>
    public void Begin(TunnelStream stream, bool isEmpty)
    {
        _stream = stream;
        _source.RunContinuationsAsynchronously = !stream.Uplink.Settings.InlineContinuations;
        _shown = default;
        _isShownLast = false;
        _isCompleted = isEmpty;
        _isCancelled = false;
        Trailers = null;
    }

    /// <inheritdoc/>
    [SuppressMessage("Reliability", "CA2012", Justification = "The result is returned, and the caller awaits it.")]
    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default) =>
        TryRead(out var result) ? new ValueTask<ReadResult>(result) : WaitAsync();

    /// <inheritdoc/>
    public override bool TryRead(out ReadResult result)
    {
        using (_gate.EnterScope())
        {
            if (_isCancelled)
            {
                _isCancelled = false;
                result = new ReadResult(default, isCanceled: true, isCompleted: false);
                return true;
            }
        }

        _shown = default;
        _isShownLast = false;
        if (!_isCompleted)
        {
            if (!_stream.TryRead(out var item))
            {
                result = default;
                return false;
            }

            switch (item.Kind)
            {
                case StreamItemKind.Data:
                    _shown = new ReadOnlySequence<byte>(item.Memory);
                    _isShownLast = item.IsLast;
                    result = new ReadResult(_shown, isCanceled: false, item.IsLast);
                    return true;
                case StreamItemKind.Head:
                    Trailers = item.Memory.ToArray();
                    _stream.ConsumeHead();
                    _isCompleted = true;
                    break;
                case StreamItemKind.End:
                    _isCompleted = true;
                    break;
                default:
                    throw new IOException("The visitor left, or its body was broken.");
            }
        }

        result = new ReadResult(default, isCanceled: false, isCompleted: true);
        return true;
    }

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        if (_shown.IsEmpty)
        {
            return;
        }

        var count = (int)_shown.Slice(0, consumed).Length;
        _isCompleted |= _isShownLast && count == _shown.Length;
        _shown = default;
        if (count > 0)
        {
            _stream.ConsumeData(count);
        }
    }

    /// <inheritdoc/>
    public override void CancelPendingRead()
    {
        bool wake;
        using (_gate.EnterScope())
        {
            _isCancelled = true;
            wake = _isReading;
            _isReading = false;
        }

        if (wake)
        {
            _source.SetResult(false);
        }
    }

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null)
    {
        // The stream is its exchange's to release.
    }

    /// <summary>
    /// Waits until nothing waits on the stream. A read that was cancelled leaves such a wait: the entering node ends it, because it
    /// sends its next bytes, their end or a reset.
    /// </summary>
    public Task WaitUntilIdleAsync()
    {
        using (_gate.EnterScope())
        {
            if (!_isWaiting)
            {
                return Task.CompletedTask;
            }

            _idle ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return _idle.Task;
        }
    }

    bool IValueTaskSource<bool>.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<bool>.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource<bool>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ReadResult> WaitAsync()
    {
        ReadResult result;
        do
        {
            await WaitForSignalAsync().ConfigureAwait(false);
        }
        while (!TryRead(out result));

        return result;
    }

    [SuppressMessage("Reliability", "CA2012", Justification = "The stream's wait is awaited by hand, because a cancelled read leaves it.")]
    private ValueTask<bool> WaitForSignalAsync()
    {
        var starts = false;
        using (_gate.EnterScope())
        {
            if (_isCancelled)
            {
                return new ValueTask<bool>(false);
            }

            _source.Reset();
            _isReading = true;
            if (!_isWaiting)
            {
                _isWaiting = true;
                starts = true;
            }
        }

        var signal = new ValueTask<bool>(this, _source.Version);
        if (starts)
        {
            _awaiter = _stream.WaitToReadAsync().ConfigureAwait(false).GetAwaiter();
            if (_awaiter.IsCompleted)
            {
                OnReadable();
            }
            else
            {
                _awaiter.UnsafeOnCompleted(_onReadable);
            }
        }

        return signal;
    }

    private void OnReadable()
    {
        _awaiter.GetResult();
        bool wake;
        TaskCompletionSource? idle;
        using (_gate.EnterScope())
        {
            _isWaiting = false;
            wake = _isReading;
            _isReading = false;
            idle = _idle;
            _idle = null;
        }

        if (wake)
        {
            _source.SetResult(true);
        }

        idle?.SetResult();
    }
}
