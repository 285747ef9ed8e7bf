using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// The reader of an uplink. It awaits the transport only: payloads are copied to their streams, which credit guarantees room for,
/// and answers are left to the writer. So no stream, backend or slow visitor can ever hold up another.
/// </summary>
internal sealed partial class UplinkReader
{
    /// <summary>What an uplink with little to do holds.</summary>
    private const int SmallBuffer = 16 * 1024;

    /// <summary>After a wait of this length the next one is made without a buffer: an idle uplink holds none.</summary>
    private static readonly TimeSpan _idleAfter = TimeSpan.FromSeconds(1);

    /// <summary>What a busy one grows to: parsed in place, so that a full buffer costs one receive.</summary>
    private const int LargeBuffer = 1024 * 1024;

    /// <summary>After this many small receives in a row a large buffer is given back.</summary>
    private const int ShrinkAfter = 64;

    /// <summary>
    /// After this much work without a wait, others on the same engine thread get their turn: bytes of payload, and <see cref="FrameWork"/>
    /// for each frame. However it comes, in many receives or in one, it is a fraction of a millisecond.
    /// </summary>
    private const int YieldAfter = 512 * 1024;

    /// <summary>What a frame costs beside its payload: the copying of this many bytes.</summary>
    private const int FrameWork = 512;

    private readonly UplinkConnection _uplink;
    private readonly UplinkStreams _streams;
    private readonly IUplinkTransport _transport;
    private readonly BufferPool _buffers;
    private readonly TimeProvider _time;

    /// <summary>
    /// Streams whose readers continue when all frames of the buffer are handled: with all of their bytes at once. Frame by frame, each
    /// would cost a system call and wake the next process.
    /// </summary>
    private readonly List<TunnelStream> _woken = [];
    private long _lastInbound;
    private int _skip;
    private int _work;
    private EmptyFrameBudget _empty = new(EmptyFrameBudget.Burst, EmptyFrameBudget.PerSecond);
    private EmptyFrameBudget _lists = new(EmptyFrameBudget.ListBurst, EmptyFrameBudget.ListsPerSecond);

    public UplinkReader(UplinkConnection uplink, IUplinkTransport transport)
    {
        _uplink = uplink;
        _streams = uplink.Streams;
        _transport = transport;
        _buffers = uplink.Settings.Buffers;
        _time = uplink.Settings.TimeProvider;
        _lastInbound = _time.GetTimestamp();
    }

    /// <summary>When anything arrived last, a timestamp of the settings' time provider.</summary>
    public long LastInbound => Volatile.Read(ref _lastInbound);

    /// <summary>The loop. Returns when the peer has closed or the connection broke; the uplink has ended then.</summary>
    /// <param name="initial">Bytes that arrived after the handshake.</param>
    public async Task RunAsync(ReadOnlyMemory<byte> initial)
    {
        byte[]? buffer = null;
        try
        {
            if (initial.Length > 0)
            {
                buffer = _buffers.Rent(Math.Max(SmallBuffer, initial.Length));
                initial.CopyTo(buffer);
            }

            var filled = initial.Length;
            var smallReceives = 0;
            var idle = filled == 0;
            var statistics = _uplink.Statistics;
            while (true)
            {
                if (_uplink.End is not null)
                {
                    // What still arrives is dropped, and only the peer's end is waited for: closing with bytes unread would destroy the
                    // last GOAWAY (RFC 9112 section 9.6 has the same care).
                    filled = 0;
                }
                else if (filled > 0 && buffer is not null)
                {
                    ProtocolError error;
                    int needed;
                    var start = 0;
                    while (true)
                    {
                        error = ProcessFrames(buffer.AsSpan(start, filled - start), out var consumed, out needed);
                        WakeReaders();
                        start += consumed;
                        if (_work < YieldAfter || error != ProtocolError.None || _uplink.End is not null)
                        {
                            break;
                        }

                        // The rest stays where it is: to move it costs as much as to handle it.
                        _work = 0;
                        await new SchedulerYield(_uplink.Settings.WriterScheduler);
                    }

                    if (error != ProtocolError.None)
                    {
                        _uplink.TryEnd(new UplinkEnd(SessionEndReason.ProtocolError, error));
                        continue;
                    }

                    filled -= start;
                    buffer.AsSpan(start, filled).CopyTo(buffer);
                    if (filled < SmallBuffer && needed <= SmallBuffer && smallReceives > ShrinkAfter && buffer.Length > SmallBuffer * 2)
                    {
                        // Also with the beginning of a frame in it: a peer must not be able to keep the large one.
                        var small = _buffers.Rent(SmallBuffer);
                        buffer.AsSpan(0, filled).CopyTo(small);
                        _buffers.Return(buffer);
                        buffer = small;
                        smallReceives = 0;
                    }
                    else if (needed > buffer.Length)
                    {
                        buffer = Grow(buffer, filled, needed);
                    }
                }

                if (idle && filled == 0)
                {
                    if (buffer is not null)
                    {
                        _buffers.Return(buffer);
                        buffer = null;
                    }

                    await _transport.ReceiveAsync(Memory<byte>.Empty).ConfigureAwait(false);
                }

                buffer ??= _buffers.Rent(SmallBuffer);
                var receive = _transport.ReceiveAsync(buffer.AsMemory(filled));
                if (!receive.IsCompleted)
                {
                    _work = 0;
                }

                var received = await receive.ConfigureAwait(false);
                if (received == 0)
                {
                    _uplink.TryEnd(new UplinkEnd(SessionEndReason.PeerClosed));
                    return;
                }

                var now = _time.GetTimestamp();
                idle = _time.GetElapsedTime(_lastInbound, now) > _idleAfter;
                Volatile.Write(ref _lastInbound, now);
                statistics.BytesReceived += received;
                statistics.Receives++;
                filled += received;
                smallReceives = received < SmallBuffer / 2 ? smallReceives + 1 : 0;
                if (filled == buffer.Length && buffer.Length < LargeBuffer)
                {
                    buffer = Grow(buffer, filled, Math.Min(LargeBuffer, buffer.Length * 4));
                }
            }
        }
        catch (Exception exception)
        {
            _uplink.TryEnd(new UplinkEnd(SessionEndReason.TransportFailed, Text: exception.Message));
        }
        finally
        {
            WakeReaders();
            if (buffer is not null)
            {
                _buffers.Return(buffer);
            }
        }
    }

    private void WakeReaders()
    {
        if (_woken.Count == 0)
        {
            return;
        }

        // Each piece that a reader consumes may return credit: one frame after all of them is enough.
        _streams.IsWakingReaders = true;
        foreach (var stream in _woken)
        {
            stream.WakeReader();
        }

        _streams.IsWakingReaders = false;
        _woken.Clear();
    }

    private byte[] Grow(byte[] buffer, int filled, int size)
    {
        var larger = _buffers.Rent(size);
        buffer.AsSpan(0, filled).CopyTo(larger);
        _buffers.Return(buffer);
        return larger;
    }

    /// <summary>Handles the whole frames in the buffer, until it has done its share of work.</summary>
    /// <param name="bytes">What has arrived.</param>
    /// <param name="consumed">Bytes handled.</param>
    /// <param name="needed">Bytes that the next frame needs in all, as far as its header is there.</param>
    private ProtocolError ProcessFrames(ReadOnlySpan<byte> bytes, out int consumed, out int needed)
    {
        consumed = 0;
        needed = FrameHeader.Size;
        while (_work < YieldAfter)
        {
            var rest = bytes[consumed..];
            if (_skip > 0)
            {
                // An unknown frame is thrown away as it comes.
                var skipped = Math.Min(_skip, rest.Length);
                _skip -= skipped;
                consumed += skipped;
                rest = rest[skipped..];
            }

            if (rest.Length < FrameHeader.Size)
            {
                return ProtocolError.None;
            }

            var error = FrameHeader.TryRead(rest, out var header);
            if (error != ProtocolError.None)
            {
                return error;
            }

            if (!header.IsKnown)
            {
                consumed += FrameHeader.Size;
                _skip = header.Length;
                _work += FrameWork;
                if (!_empty.TryTake(_time))
                {
                    return ProtocolError.EmptyFrameFlood;
                }

                continue;
            }

            if (rest.Length < FrameHeader.Size + header.Length)
            {
                needed = FrameHeader.Size + header.Length;
                return ProtocolError.None;
            }

            _uplink.Statistics.FramesReceived++;
            _work += FrameWork + header.Length;
            error = Dispatch(header, rest.Slice(FrameHeader.Size, header.Length));
            if (error != ProtocolError.None)
            {
                return error;
            }

            consumed += FrameHeader.Size + header.Length;
            needed = FrameHeader.Size;
        }

        return ProtocolError.None;
    }
}
