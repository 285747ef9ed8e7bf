using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Threading.Channels;
using System.Threading.Tasks.Sources;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// The queue between producers and the write loop: a channel whose item is the ready stream, not the frame. A stream is in it at most once
/// (its own flag sees to that), so it is bounded by the number of streams. Compared with the channels of
/// <c>System.Threading.Channels</c> it adds two things: the order (young streams first, a guaranteed quarter of the turns for old ones),
/// and the choice where the reader continues, which matters most on the hot path (docs/performance.md).
/// </summary>
internal sealed class ReadyStreamChannel : Channel<TunnelStream>
{
    /// <summary>One turn in this many belongs to the old streams while there are both.</summary>
    private const int OldShare = 4;

    private readonly ShortLock _gate = new();
    private readonly Queue<TunnelStream> _young = new();
    private readonly Queue<TunnelStream> _old = new();
    private readonly ChannelReaderSide _reader;
    private readonly PipeScheduler _scheduler;
    private readonly Func<bool> _continueInline;
    private int _turn;
    private bool _signalled;
    private bool _waiting;
    private bool _completed;

    /// <summary>Makes an empty channel.</summary>
    /// <param name="scheduler">Where the reader continues when it is woken.</param>
    /// <param name="continueInline">Asked at each wake: whether the reader continues right on the waking thread instead.</param>
    public ReadyStreamChannel(PipeScheduler scheduler, Func<bool> continueInline)
    {
        _scheduler = scheduler;
        _continueInline = continueInline;
        Reader = _reader = new ChannelReaderSide(this);
        Writer = new ChannelWriterSide(this);
    }

    /// <summary>Streams that wait for a turn. May be a moment old.</summary>
    public int Count => _young.Count + _old.Count;

    /// <summary>Wakes the reader although there may be no stream: a control frame waits.</summary>
    public void Signal() => Enqueue(null);

    private bool Enqueue(TunnelStream? stream)
    {
        bool wake;
        using (_gate.EnterScope())
        {
            if (_completed)
            {
                return false;
            }

            if (stream is not null)
            {
                (stream.IsYoung ? _young : _old).Enqueue(stream);
            }

            wake = _waiting;
            _waiting = false;
            _signalled = !wake;
        }

        if (wake)
        {
            if (_continueInline())
            {
                _reader.Wake(true);
            }
            else
            {
                _scheduler.Schedule(static side => ((ChannelReaderSide)side!).Wake(true), _reader);
            }
        }

        return true;
    }

    private bool Complete()
    {
        bool wake;
        using (_gate.EnterScope())
        {
            if (_completed)
            {
                return false;
            }

            _completed = true;
            _young.Clear();
            _old.Clear();
            wake = _waiting;
            _waiting = false;
        }

        if (wake)
        {
            _scheduler.Schedule(static side => ((ChannelReaderSide)side!).Wake(false), _reader);
        }

        return true;
    }

    private bool TryDequeue([MaybeNullWhen(false)] out TunnelStream stream)
    {
        using (_gate.EnterScope())
        {
            var oldsTurn = _young.Count == 0 || (_old.Count > 0 && _turn % OldShare == OldShare - 1);
            if (!(oldsTurn ? _old : _young).TryDequeue(out stream))
            {
                return false;
            }

            _turn++;
            return true;
        }
    }

    private sealed class ChannelWriterSide(ReadyStreamChannel channel) : ChannelWriter<TunnelStream>
    {
        public override bool TryWrite(TunnelStream item) => channel.Enqueue(item);

        public override ValueTask<bool> WaitToWriteAsync(CancellationToken cancellationToken = default) => new(!channel._completed);

        public override bool TryComplete(Exception? error = null) => channel.Complete();
    }

    private sealed class ChannelReaderSide(ReadyStreamChannel channel) : ChannelReader<TunnelStream>, IValueTaskSource<bool>
    {
        private ManualResetValueTaskSourceCore<bool> _source;

        public override bool CanCount => true;

        public override int Count => channel.Count;

        public override bool TryRead([MaybeNullWhen(false)] out TunnelStream item) => channel.TryDequeue(out item);

        /// <summary>One wait at a time. The token is ignored: the channel's completion ends the loop.</summary>
        public override ValueTask<bool> WaitToReadAsync(CancellationToken cancellationToken = default)
        {
            using (channel._gate.EnterScope())
            {
                if (channel._completed)
                {
                    return new ValueTask<bool>(false);
                }

                if (channel._signalled || channel._young.Count + channel._old.Count > 0)
                {
                    // Cleared before the loop looks, so that what is queued while it looks is a new signal.
                    channel._signalled = false;
                    return new ValueTask<bool>(true);
                }

                _source.Reset();
                channel._waiting = true;
                return new ValueTask<bool>(this, _source.Version);
            }
        }

        public void Wake(bool available) => _source.SetResult(available);

        bool IValueTaskSource<bool>.GetResult(short token) => _source.GetResult(token);

        ValueTaskSourceStatus IValueTaskSource<bool>.GetStatus(short token) => _source.GetStatus(token);

        void IValueTaskSource<bool>.OnCompleted(
            Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            _source.OnCompleted(continuation, state, token, flags);
    }
}
