using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Threading.Channels;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// For comparison, in the place of the product's class of this name: the literal queue, <c>Channel.CreateBounded&lt;Frame&gt;</c> with one
/// writer as its reader. A producer makes its frame at once, in a rented buffer, and the frame waits in the channel; control frames too.
/// When the channel is full, streams wait outside. The order is that of arrival, and the writer wakes where the channel's continuations
/// run: on the thread pool.
/// </summary>
internal sealed class ReadyStreamChannel
{
    private const int Capacity = 256;

    /// <summary>A frame up to this length is copied into a buffer of its size; a longer one takes its buffer along.</summary>
    private const int SmallFrame = 4 * 1024;

    private readonly Channel<Frame> _frames =
        Channel.CreateBounded<Frame>(new BoundedChannelOptions(Capacity) { SingleReader = true });

    private readonly ConcurrentQueue<TunnelStream> _waiting = new();
    private readonly PipeScheduler _scheduler;
    private ControlQueue? _control;
    private BufferPool _buffers = BufferPool.Shared;
    private byte[]? _scratch;
    private int _asked;

    /// <param name="scheduler">Where the writer has to be to send.</param>
    /// <param name="continueInline">Not used: the channel decides where its reader continues.</param>
    [SuppressMessage("Style", "IDE0060", Justification = "The product's class has it.")]
    public ReadyStreamChannel(PipeScheduler scheduler, Func<bool> continueInline)
    {
        _scheduler = scheduler;
        Reader = new ReaderSide(this);
        Writer = new WriterSide(this);
    }

    /// <summary>The writer's side.</summary>
    public ReaderSide Reader { get; }

    /// <summary>The producers' side.</summary>
    public WriterSide Writer { get; }

    /// <summary>Frames and streams that wait. May be a moment old.</summary>
    public int Count => _frames.Reader.Count + _waiting.Count;

    /// <summary>Gives it the control frames, which go through the channel too: none of them may overtake a frame of its stream.</summary>
    public void Attach(ControlQueue control, BufferPool buffers)
    {
        (_control, _buffers) = (control, buffers);
        MakeFrames();
    }

    /// <summary>A control frame waits, or the end.</summary>
    public void Signal()
    {
        if (!MakeFrames())
        {
            _frames.Writer.TryWrite(default);
        }
    }

    /// <summary>Turns what waits into frames while there is room; one thread at a time, and the others' wishes are done by it.</summary>
    /// <returns>Whether this thread made one.</returns>
    public bool MakeFrames()
    {
        if (Interlocked.Increment(ref _asked) != 1)
        {
            return false;
        }

        var made = false;
        int seen;
        do
        {
            seen = Volatile.Read(ref _asked);
            while (_control is not null && _frames.Reader.Count < Capacity && (TryMakeControl() || TryMakeStream()))
            {
                made = true;
            }

            if (_scratch is { } scratch)
            {
                // An idle uplink holds no buffer.
                _buffers.Return(scratch);
                _scratch = null;
            }
        }
        while (Interlocked.Add(ref _asked, -seen) != 0);

        return made;
    }

    private bool TryMakeControl()
    {
        var room = _scratch ??= _buffers.Rent(FrameHeader.Size + ProtocolLimits.MaxDataLength);
        var length = _control!.CopyTo(room, out _);
        return length > 0 && Put(length, isOfStream: false);
    }

    private bool TryMakeStream()
    {
        if (!_waiting.TryDequeue(out var stream))
        {
            return false;
        }

        var room = _scratch ??= _buffers.Rent(FrameHeader.Size + ProtocolLimits.MaxDataLength);
        var turn = stream.TakeTurn(room, out var length);
        if (turn == StreamTurn.NoRoom)
        {
            _buffers.Return(room);
            _scratch = _buffers.Rent(ProtocolLimits.MaxFrameLength);
            turn = stream.TakeTurn(_scratch, out length);
        }

        if (turn == StreamTurn.Again)
        {
            _waiting.Enqueue(stream);
        }

        return length == 0 || Put(length, isOfStream: true);
    }

    private bool Put(int length, bool isOfStream)
    {
        var bytes = _scratch!;
        if (length <= SmallFrame)
        {
            var copy = _buffers.Rent(length);
            bytes.AsSpan(0, length).CopyTo(copy);
            bytes = copy;
        }
        else
        {
            _scratch = null;
        }

        // Room there is: only this thread adds. Completed it may be.
        if (_frames.Writer.TryWrite(new Frame(bytes, length, isOfStream)))
        {
            return true;
        }

        _buffers.Return(bytes);
        return false;
    }

    private bool Complete()
    {
        if (!_frames.Writer.TryComplete())
        {
            return false;
        }

        while (_frames.Reader.TryRead(out var frame))
        {
            Return(frame);
        }

        _waiting.Clear();
        return true;
    }

    private void Return(in Frame frame)
    {
        if (frame.Bytes is { } bytes)
        {
            _buffers.Return(bytes);
        }
    }

    /// <summary>What the writer sees.</summary>
    internal sealed class ReaderSide(ReadyStreamChannel channel)
    {
        /// <summary>Waits for a frame; continues on the pool, as the channel has it, and from there where the transport wants it.</summary>
        public async ValueTask<bool> WaitToReadAsync()
        {
            var wait = channel._frames.Reader.WaitToReadAsync();
            if (wait.IsCompleted)
            {
                return await wait.ConfigureAwait(false);
            }

            var more = await wait.ConfigureAwait(false);
            if (channel._scheduler != PipeScheduler.ThreadPool)
            {
                await new SchedulerYield(channel._scheduler);
            }

            return more;
        }

        /// <summary>Copies the next frame.</summary>
        /// <param name="room">Where to.</param>
        /// <param name="length">Its bytes; 0: it was a wake-up.</param>
        /// <param name="isOfStream">Whether it was a stream's.</param>
        /// <returns>False: there is none, or it does not fit.</returns>
        public bool TryCopy(Span<byte> room, out int length, out bool isOfStream)
        {
            (length, isOfStream) = (0, false);
            if (!channel._frames.Reader.TryPeek(out var frame) || frame.Length > room.Length || !channel._frames.Reader.TryRead(out frame))
            {
                return false;
            }

            (length, isOfStream) = (frame.Length, frame.IsOfStream);
            frame.Bytes.AsSpan(0, length).CopyTo(room);
            channel.Return(frame);
            return true;
        }
    }

    /// <summary>What producers see.</summary>
    internal sealed class WriterSide(ReadyStreamChannel channel)
    {
        /// <summary>A stream has something to send.</summary>
        public void TryWrite(TunnelStream stream)
        {
            channel._waiting.Enqueue(stream);
            channel.MakeFrames();
        }

        /// <summary>Nothing more is sent.</summary>
        public bool TryComplete() => channel.Complete();
    }
}
