using System.Diagnostics.CodeAnalysis;
using System.Net.Sockets;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Transport.Datagrams;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Client.Core.Raw;

/// <summary>
/// The datagrams between one visitor and the service, over a socket of its own, so that the service's answers find their visitor. It ends
/// when ProxyEntry resets the stream, because the visitor was silent for long.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "Disposed of by RunAsync, which is all that is called.")]
internal sealed class DatagramExchange(RawExchanges exchanges, TunnelStream stream, DatagramTarget target)
{
    private const int LargestDatagram = 65_535;

    /// <summary>Where a thread receives: nothing waits while a datagram is here.</summary>
    [ThreadStatic]
    private static byte[]? _room;

    private readonly ExchangeContext _context = exchanges.Context;
    private readonly Lock _gate = new();
    private readonly StreamId _id = stream.Id;
    private readonly CancellationTokenSource _ending = new();
    private readonly DatagramReader _datagrams = new(exchanges.Context.Buffers);
    private DatagramSocket? _service;
    private long _sent;
    private long _received;
    private bool _isAborted;
    private bool _isOver;

    /// <summary>Serves the stream to its end. Never throws.</summary>
    public async Task RunAsync()
    {
        var started = _context.TimeProvider.GetTimestamp();
        BackendFailure failure;
        try
        {
            failure = await ServeAsync().ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A fault of ours ends this association and nothing else.
            failure = new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None);
        }

        bool isAborted;
        lock (_gate)
        {
            _isOver = true;
            isAborted = _isAborted;
        }

        if (!isAborted)
        {
            stream.ResetAfterHead(failure.IsNone ? StreamResetReason.Cancel : failure.Reason, failure.Detail);
        }

        _ending.Dispose();
        if (_context.Events.WantsRequests)
        {
            var trouble = isAborted || failure.IsNone ? default : ExchangeFailureWords.For(failure.Reason, failure.Detail);
            _context.Events.RequestCompleted(
                new RequestSummary("CONNECT", "udp", 101, _context.TimeProvider.GetElapsedTime(started), _sent, _received)
                {
                    Error = trouble.Error,
                    Leg = trouble.Leg,
                });
        }

        stream.Release();
        _context.End();
    }

    private async ValueTask<BackendFailure> ServeAsync()
    {
        if (!RawHead.TryTake(exchanges, stream, out _, out var refusal))
        {
            return refusal;
        }

        stream.NotifyReset(static (exchange, id) => ((DatagramExchange)exchange!).Abort(id), this);
        var slots = _context.Connector.Slots;
        try
        {
            await slots.TakeAsync(null, _ending.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            return BackendFailure.Connect(StreamResetDetail.TooManyConnections);
        }

        try
        {
            _service = await ConnectAsync().ConfigureAwait(false);
            if (!RawHead.TryAnswer(stream) || (_service.HasOthers && !await ToServiceAsync(firstAlone: true).ConfigureAwait(false)))
            {
                return BackendFailure.None;
            }

            var toService = ToServiceAsync(firstAlone: false);
            var failure = await FromServiceAsync(_service).ConfigureAwait(false);
            stream.ResetAfterHead(failure.IsNone ? StreamResetReason.Cancel : failure.Reason, failure.Detail);
            await toService.ConfigureAwait(false);
            return failure;
        }
        catch (SocketException exception)
        {
            return BackendFailure.FromConnect(exception.SocketErrorCode);
        }
        catch (OperationCanceledException)
        {
            return BackendFailure.None;
        }
        finally
        {
            _datagrams.Release();
            _service?.Dispose();
            slots.Release();
        }
    }

    private async ValueTask<DatagramSocket> ConnectAsync() => OpenFiles.AreAlmostUsedUp()
        ? throw new SocketException((int)SocketError.TooManyOpenSockets)
        : new DatagramSocket(target, await target.ResolveAsync(_ending.Token).ConfigureAwait(false));

    /// <summary>Sends what the stream brings, until the stream ends.</summary>
    /// <param name="firstAlone">Or until something was sent: before that, nothing can come from the service.</param>
    /// <returns>False when the stream has ended.</returns>
    private async Task<bool> ToServiceAsync(bool firstAlone)
    {
        try
        {
            while (true)
            {
                await stream.WaitToReadAsync().ConfigureAwait(false);
                if (!stream.TryRead(out var item) || item.Kind != StreamItemKind.Data)
                {
                    _ending.Cancel();
                    return false;
                }

                var hasSent = TrySend(item.Memory.Span, firstAlone);
                _sent += item.Memory.Length;
                stream.ConsumeData(item.Memory.Length);
                if (firstAlone && hasSent)
                {
                    return true;
                }
            }
        }
        catch (ObjectDisposedException)
        {
            // The association is over.
            return false;
        }
    }

    private bool TrySend(ReadOnlySpan<byte> bytes, bool isFirst)
    {
        var hasSent = false;
        while (_datagrams.TryRead(ref bytes, out var datagram))
        {
            if (isFirst && !hasSent)
            {
                _service!.SendFirst(datagram);
            }
            else
            {
                _service!.Send(datagram);
            }

            hasSent = true;
        }

        return hasSent;
    }

    /// <summary>
    /// Passes on what the service sends. While the stream has no credit, datagrams wait in the socket's queue, which drops what has no
    /// room. A silent association holds no buffer, because there may be thousands.
    /// </summary>
    private async ValueTask<BackendFailure> FromServiceAsync(DatagramSocket service)
    {
        try
        {
            while (true)
            {
                await WaitForDatagramAsync(service.Socket).ConfigureAwait(false);
                if (!TryReceive(service.Socket, out var datagram, out var length))
                {
                    continue;
                }

                service.Answered();
                if (!await TryPassOnAsync(datagram, length).ConfigureAwait(false))
                {
                    return BackendFailure.None;
                }
            }
        }
        catch (SocketException exception)
        {
            service.Failed();
            return BackendFailure.FromConnect(exception.SocketErrorCode);
        }
        catch (OperationCanceledException)
        {
            // Not to the caller: it has to wait for the other direction before it gives back the stream.
            return BackendFailure.None;
        }
    }

    private async ValueTask WaitForDatagramAsync(Socket socket)
    {
        try
        {
            await socket.ReceiveAsync(Memory<byte>.Empty, SocketFlags.Peek, _ending.Token).ConfigureAwait(false);
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.MessageSize)
        {
            // So Windows says that there is a datagram with more bytes than none.
        }
    }

    /// <summary>Takes a datagram that has arrived, into a rented buffer of its length.</summary>
    /// <returns>False if there is none after all.</returns>
    private bool TryReceive(Socket socket, [NotNullWhen(true)] out byte[]? datagram, out int length)
    {
        // A receive with less room would cut a datagram.
        var room = _room ??= GC.AllocateUninitializedArray<byte>(LargestDatagram);
        length = socket.Receive(room, SocketFlags.None, out var error);
        datagram = null;
        switch (error)
        {
            case SocketError.Success:
                datagram = _context.Buffers.Rent(sizeof(ushort) + length);
                DatagramReader.WriteLength(datagram, length);
                room.AsSpan(0, length).CopyTo(datagram.AsSpan(sizeof(ushort)));
                return true;
            case SocketError.WouldBlock:
                return false;
            default:
                throw new SocketException((int)error);
        }
    }

    private async ValueTask<bool> TryPassOnAsync(byte[] datagram, int length)
    {
        _received += length;
        try
        {
            return await stream.WriteAsync(datagram.AsMemory(0, sizeof(ushort) + length), end: false).ConfigureAwait(false)
                == StreamSendStatus.Sent;
        }
        finally
        {
            _context.Buffers.Return(datagram);
        }
    }

    private void Abort(StreamId id)
    {
        lock (_gate)
        {
            if (_id != id || _isOver)
            {
                return;
            }

            _isAborted = true;
        }

        // Outside the gate, because code that waits may continue inside this call, and end the association.
        _ending.Cancel();
    }
}
