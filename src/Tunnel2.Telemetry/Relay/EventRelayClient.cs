using System.Buffers.Binary;
using System.Diagnostics.CodeAnalysis;
using System.Net.Sockets;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// Follows a relay: it reconnects by itself, resumes after the last record that it passed on, and reports records that were lost in
/// between. Records and gaps together cover every number once, across reconnects. One <see cref="RunAsync"/> at a time.
/// </summary>
internal sealed class EventRelayClient
{
    private readonly RelayClientOptions _options;
    private readonly IEventRelaySink _sink;
    private ulong _ringId;
    private long _next;
    private bool _progress;

    internal EventRelayClient(RelayClientOptions options, IEventRelaySink sink)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(options.ReceiveBuffer, RelayFrame.HeaderLength + RelayFrame.MaxBody);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(options.Token.Length, RelayFrame.MaxToken);
        _options = options;
        _sink = sink;
        _next = options.From;
    }

    /// <summary>The next sequence number to be passed on; before the first connection, the configured one.</summary>
    internal long Next => Volatile.Read(ref _next);

    /// <summary>Follows the relay until cancelled, or until it refuses for good.</summary>
    /// <returns>
    /// <see cref="RelayClientEnd.NotAuthorized"/> or <see cref="RelayClientEnd.TlsRequired"/>; <see cref="RelayClientEnd.Closed"/> when
    /// cancelled.
    /// </returns>
    [SuppressMessage("Security", "CA5394", Justification = "Jitter is no secret.")]
    internal async Task<RelayClientEnd> RunAsync(CancellationToken cancellationToken)
    {
        int attempt = 0;
        while (!cancellationToken.IsCancellationRequested)
        {
            _progress = false;
            RelayClientEnd end = await ConnectOnceAsync(cancellationToken).ConfigureAwait(false);
            if (cancellationToken.IsCancellationRequested)
            {
                break;
            }

            if (end is RelayClientEnd.NotAuthorized or RelayClientEnd.TlsRequired)
            {
                return end;
            }

            attempt = _progress ? 0 : attempt;
            TimeSpan delay = _options.Delay(attempt++, Random.Shared.NextDouble());
            _options.OnDisconnected?.Invoke(end, delay);
            try
            {
                await Task.Delay(delay, _options.Time, cancellationToken).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                break;
            }
        }

        return RelayClientEnd.Closed;
    }

    private async Task<RelayClientEnd> ConnectOnceAsync(CancellationToken cancellationToken)
    {
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        if (_options.SocketReceiveBuffer > 0)
        {
            socket.ReceiveBufferSize = _options.SocketReceiveBuffer;
        }

        try
        {
            await socket.ConnectAsync(_options.Server, cancellationToken).ConfigureAwait(false);
            RelayTransport? transport = _options.Encrypt is { } encrypt
                ? await encrypt(socket, cancellationToken).ConfigureAwait(false)
                : new PlainRelayTransport(socket);
            if (transport is null)
            {
                return RelayClientEnd.TlsFailed;
            }

            await using (transport.ConfigureAwait(false))
            {
                byte[] hello = new byte[RelayFrame.HeaderLength + RelayFrame.HelloLength + _options.Token.Length];
                RelayFrame.WriteHello(hello, _ringId, _next, _options.Token.Span);
                await transport.SendAsync(hello, cancellationToken).ConfigureAwait(false);
                return await ReceiveAsync(transport, cancellationToken).ConfigureAwait(false);
            }
        }
        catch (SocketException)
        {
            return RelayClientEnd.Unreachable;
        }
        catch (Exception exception) when (exception is OperationCanceledException or IOException)
        {
            return RelayClientEnd.Closed;
        }
    }

    private async Task<RelayClientEnd> ReceiveAsync(RelayTransport transport, CancellationToken cancellationToken)
    {
        byte[] buffer = new byte[_options.ReceiveBuffer];
        int start = 0;
        int end = 0;
        bool welcomed = false;
        long armed = _options.Time.GetTimestamp();
        using var silence = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        using ITimer timer = _options.Time.CreateTimer(
            static s => ((CancellationTokenSource)s!).Cancel(), silence, _options.SilenceLimit, Timeout.InfiniteTimeSpan);
        while (true)
        {
            try
            {
                int read = await transport.ReceiveAsync(buffer.AsMemory(end), silence.Token).ConfigureAwait(false);
                if (read == 0)
                {
                    return RelayClientEnd.Closed;
                }

                end += read;
                long now = _options.Time.GetTimestamp();
                if (_options.Time.GetElapsedTime(armed, now) > _options.SilenceLimit / 8)
                {
                    armed = now;
                    timer.Change(_options.SilenceLimit, Timeout.InfiniteTimeSpan);
                }
            }
            catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
            {
                return RelayClientEnd.Silent;
            }

            int length;
            while ((length = RelayFrame.TryRead(
                buffer.AsSpan(start, end - start), out RelayFrameKind kind, out ReadOnlySpan<byte> body)) > 0)
            {
                start += length;
                if (!welcomed)
                {
                    RelayStatus status = Welcome(kind, body);
                    if (status != RelayStatus.Accepted)
                    {
                        return status switch
                        {
                            RelayStatus.TooManyClients => RelayClientEnd.Refused,
                            RelayStatus.NotAuthorized => RelayClientEnd.NotAuthorized,
                            RelayStatus.TlsRequired => RelayClientEnd.TlsRequired,
                            _ => RelayClientEnd.ProtocolError,
                        };
                    }

                    welcomed = true;
                }
                else if (!Handle(kind, body))
                {
                    return RelayClientEnd.ProtocolError;
                }
            }

            if (length < 0)
            {
                return RelayClientEnd.ProtocolError;
            }

            if (!transport.HasMore)
            {
                _options.OnIdle?.Invoke();
            }

            // The rest is less than a frame; it moves to the front only when the room after it gets short.
            if (start == end)
            {
                start = end = 0;
            }
            else if (buffer.Length - start < RelayFrame.HeaderLength + RelayFrame.MaxBody)
            {
                buffer.AsSpan(start, end - start).CopyTo(buffer);
                end -= start;
                start = 0;
            }
        }
    }

    private RelayStatus Welcome(RelayFrameKind kind, ReadOnlySpan<byte> body)
    {
        if (kind != RelayFrameKind.Welcome || body.Length != RelayFrame.WelcomeLength)
        {
            return RelayStatus.BadHello;
        }

        var status = (RelayStatus)BinaryPrimitives.ReadUInt16LittleEndian(body);
        if (status != RelayStatus.Accepted)
        {
            return status;
        }

        ulong ringId = BinaryPrimitives.ReadUInt64LittleEndian(body[8..]);
        long next = BinaryPrimitives.ReadInt64LittleEndian(body[16..]);
        if (_ringId != 0 && (ringId != _ringId || next < _next))
        {
            _sink.OnGap(new RingGap(_next, 0, RingGapReason.NewRing));
        }

        _ringId = ringId;
        Volatile.Write(ref _next, next);
        return RelayStatus.Accepted;
    }

    private bool Handle(RelayFrameKind kind, ReadOnlySpan<byte> body)
    {
        switch (kind)
        {
            case RelayFrameKind.Records:
                return HandleRecords(body);
            case RelayFrameKind.Gap:
                return HandleGap(body);
            case RelayFrameKind.SlowWarning when body.Length == 16:
                _sink.OnSlowWarning(BinaryPrimitives.ReadInt64LittleEndian(body), BinaryPrimitives.ReadInt64LittleEndian(body[8..]));
                return true;
            case RelayFrameKind.Heartbeat when body.Length == 16:
                _progress = true;
                return BinaryPrimitives.ReadInt64LittleEndian(body) == _next;
            default:
                return false;
        }
    }

    private bool HandleRecords(ReadOnlySpan<byte> body)
    {
        if (body.Length < RelayFrame.RecordsHeaderLength || BinaryPrimitives.ReadInt64LittleEndian(body) != _next)
        {
            return false;
        }

        uint count = BinaryPrimitives.ReadUInt32LittleEndian(body[8..]);
        body = body[RelayFrame.RecordsHeaderLength..];
        long sequence = _next;
        for (uint i = 0; i < count; i++)
        {
            if (body.Length < 4)
            {
                return false;
            }

            uint head = BinaryPrimitives.ReadUInt32LittleEndian(body);
            int length = (ushort)head;
            if (body.Length < 4 + length)
            {
                return false;
            }

            _sink.OnRecord(sequence++, (ushort)(head >> 16), body.Slice(4, length));
            Volatile.Write(ref _next, sequence);
            body = body[(4 + length)..];
        }

        _progress = true;
        return body.IsEmpty;
    }

    private bool HandleGap(ReadOnlySpan<byte> body)
    {
        if (body.Length != 17)
        {
            return false;
        }

        var gap = new RingGap(
            BinaryPrimitives.ReadInt64LittleEndian(body), BinaryPrimitives.ReadInt64LittleEndian(body[8..]), (RingGapReason)body[16]);
        if (gap.First != _next || gap.Count < 0)
        {
            return false;
        }

        Volatile.Write(ref _next, gap.First + gap.Count);
        _sink.OnGap(gap);
        _progress = true;
        return true;
    }
}
