using System.Diagnostics;
using System.IO.Pipelines;
using System.Net.Sockets;
using System.Threading.Channels;

namespace Tunnel2.TestUtilities;

/// <summary>
/// Moves the bytes of one connection in one direction. A reader stamps what it receives with the time it may leave; a writer sends it then,
/// in the same order.
/// </summary>
internal sealed class RelayPump
{
    /// <summary>How much a direction holds at most, so that a delayed fast link is not throttled to a crawl.</summary>
    private const int QueueLimit = 16 * 1024 * 1024;

    private const int ReadLength = 64 * 1024;

    /// <summary>A limited link sends in pieces of this share of a second, so that its flow is smooth.</summary>
    private const int PiecesPerSecond = 100;

    /// <summary>
    /// Timers are late by a millisecond or more; a link that is busy makes up for so much, or it would be slower than it says.
    /// </summary>
    private const double LagSeconds = 0.05;

    private readonly Socket _from;
    private readonly Socket _to;
    private readonly RelayLink _link;
    private readonly RelayLink _own;
    private readonly Pipe _queue = new(new PipeOptions(
        pauseWriterThreshold: QueueLimit, resumeWriterThreshold: QueueLimit / 2, minimumSegmentSize: ReadLength,
        useSynchronizationContext: false));

    private readonly Channel<(long DueTimestamp, int Length)> _stamps =
        Channel.CreateUnbounded<(long, int)>(new UnboundedChannelOptions { SingleReader = true, SingleWriter = true });

    private readonly AsyncCounter _forwarded;
    private long _freeTimestamp;
    private volatile bool _isDiscarding;

    /// <param name="from">Where bytes come from.</param>
    /// <param name="to">Where they go.</param>
    /// <param name="link">What holds for this direction of all connections.</param>
    /// <param name="own">What holds for this connection beside that: only pauses and black holes.</param>
    /// <param name="name">For messages.</param>
    public RelayPump(Socket from, Socket to, RelayLink link, RelayLink own, string name)
    {
        _from = from;
        _to = to;
        _link = link;
        _own = own;
        _forwarded = new AsyncCounter($"bytes forwarded {name}");
    }

    public AsyncCounter Forwarded => _forwarded;

    /// <summary>When this many bytes have been forwarded, <see cref="LimitReached"/> is called and nothing more is sent.</summary>
    public long Limit { get; set; } = long.MaxValue;

    public Action? LimitReached { get; set; }

    /// <summary>From now on everything is read, to the end of the stream, and nothing sent.</summary>
    public void Discard() => _isDiscarding = true;

    /// <summary>
    /// Runs until the end of the stream has been passed on; throws what a socket threw. A receiving socket's failure is thrown after what
    /// it had brought before was sent.
    /// </summary>
    public async Task RunAsync(CancellationToken cancellationToken)
    {
        var receiving = ReceiveAsync(cancellationToken);
        // Ends, or fails as the receiving half did, when the channel has been emptied. If sending itself fails, the owner closes both
        // sockets, which ends the receiving half.
        await SendAsync(cancellationToken).ConfigureAwait(false);
        await receiving.ConfigureAwait(false);
    }

    private async Task ReceiveAsync(CancellationToken cancellationToken)
    {
        Exception? failure = null;
        try
        {
            while (true)
            {
                await WaitWhilePausedAsync(cancellationToken).ConfigureAwait(false);
                var memory = _queue.Writer.GetMemory(ReadLength);
                var count = await _from.ReceiveAsync(memory, SocketFlags.None, cancellationToken).ConfigureAwait(false);
                // The pause may have come while the read was waiting; what it brought is held back by the sender.
                var settings = _link.Settings;
                if (settings.IsBlackHole || _own.Settings.IsBlackHole || _isDiscarding)
                {
                    if (count > 0)
                    {
                        continue;
                    }

                    if (_isDiscarding)
                    {
                        return;
                    }

                    await new TaskCompletionSource().Task.WaitAsync(cancellationToken).ConfigureAwait(false);
                }

                var due = Stopwatch.GetTimestamp() + ToTimestamp(settings.Delay.TotalSeconds);
                _stamps.Writer.TryWrite((due, count));
                if (count == 0)
                {
                    return;
                }

                _queue.Writer.Advance(count);
                await _queue.Writer.FlushAsync(cancellationToken).ConfigureAwait(false);
            }
        }
        catch (Exception e)
        {
            failure = e;
            throw;
        }
        finally
        {
            _stamps.Writer.TryComplete(failure);
            await _queue.Writer.CompleteAsync(failure).ConfigureAwait(false);
        }
    }

    private async Task SendAsync(CancellationToken cancellationToken)
    {
        await foreach (var (due, length) in _stamps.Reader.ReadAllAsync(cancellationToken).ConfigureAwait(false))
        {
            await WaitUntilAsync(due, cancellationToken).ConfigureAwait(false);
            if (length == 0)
            {
                await PassEndOnAsync(cancellationToken).ConfigureAwait(false);
                return;
            }

            await SendAsync(length, cancellationToken).ConfigureAwait(false);
        }
    }

    private async ValueTask PassEndOnAsync(CancellationToken cancellationToken)
    {
        var settings = await WaitWhilePausedAsync(cancellationToken).ConfigureAwait(false);
        if (!settings.IsBlackHole && !_own.Settings.IsBlackHole && !_isDiscarding)
        {
            _to.Shutdown(SocketShutdown.Send);
        }
    }

    private async Task SendAsync(int length, CancellationToken cancellationToken)
    {
        while (length > 0)
        {
            var settings = await WaitWhilePausedAsync(cancellationToken).ConfigureAwait(false);
            var read = await _queue.Reader.ReadAsync(cancellationToken).ConfigureAwait(false);
            var piece = read.Buffer.First;
            piece = piece[..Math.Min(piece.Length, Math.Min(length, PieceLength(settings)))];
            var keep = settings.IsBlackHole || _own.Settings.IsBlackHole || _isDiscarding
                ? 0
                : (int)Math.Min(piece.Length, Math.Max(0, Limit - _forwarded.Value));
            if (keep > 0)
            {
                await PaceAsync(keep, settings.BytesPerSecond, cancellationToken).ConfigureAwait(false);
                await _to.SendAsync(piece[..keep], SocketFlags.None, cancellationToken).ConfigureAwait(false);
                _forwarded.Add(keep);
            }

            _queue.Reader.AdvanceTo(read.Buffer.GetPosition(piece.Length));
            length -= piece.Length;
            if (_forwarded.Value >= Limit && !_isDiscarding)
            {
                LimitReached?.Invoke();
            }
        }
    }

    private async ValueTask<LinkSettings> WaitWhilePausedAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            await _own.WaitWhilePausedAsync(cancellationToken).ConfigureAwait(false);
            var settings = await _link.WaitWhilePausedAsync(cancellationToken).ConfigureAwait(false);
            if (!_own.Settings.IsPaused)
            {
                return settings;
            }
        }
    }

    private static int PieceLength(LinkSettings settings) =>
        settings.BytesPerSecond == 0 ? int.MaxValue : (int)Math.Clamp(settings.BytesPerSecond / PiecesPerSecond, 1, ReadLength);

    private async ValueTask PaceAsync(int count, long bytesPerSecond, CancellationToken cancellationToken)
    {
        if (bytesPerSecond > 0)
        {
            var now = Stopwatch.GetTimestamp();
            if (now - _freeTimestamp > ToTimestamp(LagSeconds))
            {
                _freeTimestamp = now;
            }

            _freeTimestamp += ToTimestamp((double)count / bytesPerSecond);
            await WaitUntilAsync(_freeTimestamp, cancellationToken).ConfigureAwait(false);
        }
    }

    private static long ToTimestamp(double seconds) => (long)(seconds * Stopwatch.Frequency);

    private static async ValueTask WaitUntilAsync(long timestamp, CancellationToken cancellationToken)
    {
        while (timestamp - Stopwatch.GetTimestamp() is > 0 and var left)
        {
            await Task.Delay((int)Math.Ceiling(left * 1000.0 / Stopwatch.Frequency), cancellationToken).ConfigureAwait(false);
        }
    }
}
