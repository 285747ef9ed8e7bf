using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// The single writer of an uplink. One loop owns the transport's sending side: it takes control frames first, then one frame from each
/// ready stream in turn, copies them into one buffer and sends it when the queue is empty or the batch is full. There is no timer: what
/// makes batches is that the next ones gather while the loop waits for its turn or for the last send.
/// </summary>
internal sealed partial class UplinkWriter
{
    /// <summary>
    /// A batch's size: 16 full frames, the bytes of a stream's first window. With room for 15 of them the last one would leave alone, and
    /// cost a send and a receive, and its credit another two. Larger ones gain nothing on loopback and hold up the frames after them on
    /// slow links.
    /// </summary>
    public const int BatchSize = 16 * (FrameHeader.Size + ProtocolLimits.MaxDataLength);

    /// <summary>The smallest limit that slow sends bring a batch to: two full frames.</summary>
    private const int SmallestBatch = 32 * 1024;

    /// <summary>
    /// A send that waits for longer makes the next batch half as large: what is in a batch has left the fair queue, and on a slow link a
    /// young stream's frame would come after all of it.
    /// </summary>
    private static readonly TimeSpan _slowSend = TimeSpan.FromMilliseconds(5);

    /// <summary>After this many bytes that the kernel took at once, others on the same engine thread get their turn.</summary>
    private const int YieldAfter = 4 * BatchSize;

    private readonly UplinkConnection _uplink;
    private readonly IUplinkTransport _transport;
    private readonly SendQueue _sending;
    private readonly ReadyStreamChannel _ready;
    private readonly ControlQueue _control;
    private readonly BufferPool _buffers;
    private long _sendStarted;
    private int _batchLimit = BatchSize;
    private long _lastStreamSend;
    private bool _streamsInBatch;
    private volatile bool _closing;

    public UplinkWriter(UplinkConnection uplink, IUplinkTransport transport)
    {
        _uplink = uplink;
        _transport = transport;
        _buffers = uplink.Settings.Buffers;
        _sending = uplink.Sending;
        _ready = _sending.Ready;
        _control = _sending.Control;
        OnMade();
    }

    /// <summary>When frames of streams were sent last, a timestamp of the settings' time provider; 0: never.</summary>
    public long LastStreamSend => Volatile.Read(ref _lastStreamSend);

    /// <summary>Whether a send is under way.</summary>
    public bool IsSending => Volatile.Read(ref _sendStarted) != 0;

    /// <summary>Lets the loop send the control frames that wait (a last GOAWAY) and end the connection after them.</summary>
    public void CloseAfterControl()
    {
        _closing = true;
        _ready.Signal();
    }

    /// <summary>Whether one send has been under way for longer than the limit.</summary>
    public bool IsStalled(long now, TimeSpan limit)
    {
        var started = Volatile.Read(ref _sendStarted);
        return started != 0 && _uplink.Settings.TimeProvider.GetElapsedTime(started, now) > limit;
    }

    /// <summary>The loop. Returns when the uplink ended; the reason is the uplink's.</summary>
    public async Task RunAsync()
    {
        byte[]? batch = null;
        var atOnce = 0;
        try
        {
            while (true)
            {
                var ready = _ready.Reader.WaitToReadAsync();
                if (!ready.IsCompleted)
                {
                    atOnce = 0;
                }
                else if (atOnce > YieldAfter)
                {
                    atOnce = 0;
                    await new SchedulerYield(_uplink.Settings.WriterScheduler);
                }

                if (!await ready.ConfigureAwait(false))
                {
                    break;
                }

                batch ??= _buffers.Rent(BatchSize);

                // Asked before the batch is filled: what was queued before the closing is then in it.
                var closing = _closing;
                var length = FillBatch(batch.AsSpan(0, BatchSize), closing);
                if (length > 0)
                {
                    atOnce += length;
                    await SendAsync(batch.AsMemory(0, length)).ConfigureAwait(false);
                }

                if (closing)
                {
                    _transport.ShutdownSend();
                    break;
                }

                if (!IsTurnOpen && _ready.Count == 0 && !_control.HasStreams)
                {
                    // Nothing to send: an idle uplink holds no buffer.
                    _buffers.Return(batch);
                    batch = null;
                }
                else if (IsTurnOpen || _control.HasStreams)
                {
                    _ready.Signal();
                }
            }
        }
        catch (Exception exception)
        {
            _uplink.TryEnd(new UplinkEnd(SessionEndReason.TransportFailed, Text: exception.Message));
        }
        finally
        {
            // A dead loop poisons its queue: those that wait learn of the end, and nothing can be queued any more.
            _sending.Complete();
            if (batch is not null)
            {
                _buffers.Return(batch);
            }
        }
    }

    partial void OnMade();

    private ValueTask SendAsync(ReadOnlyMemory<byte> bytes)
    {
        _uplink.Statistics.OnFlush(bytes.Length);
        var now = Math.Max(1, _uplink.Settings.TimeProvider.GetTimestamp());
        Volatile.Write(ref _sendStarted, now);
        if (_streamsInBatch)
        {
            Volatile.Write(ref _lastStreamSend, now);
        }

        var send = _transport.SendAsync(bytes);
        if (send.IsCompletedSuccessfully)
        {
            _batchLimit = Math.Min(BatchSize, _batchLimit * 2);
            Volatile.Write(ref _sendStarted, 0);
            _uplink.Statistics.SendingBytes = 0;
            return send;
        }

        return AwaitSendAsync(send);
    }

    private async ValueTask AwaitSendAsync(ValueTask send)
    {
        await send.ConfigureAwait(false);
        _batchLimit = _uplink.Settings.TimeProvider.GetElapsedTime(_sendStarted) > _slowSend
            ? Math.Max(SmallestBatch, _batchLimit / 2)
            : Math.Min(BatchSize, _batchLimit * 2);
        Volatile.Write(ref _sendStarted, 0);
        _uplink.Statistics.SendingBytes = 0;
    }
}
