using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Http2;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <content>The same in HTTP/2: one stream of a connection that exchanges share.</content>
internal sealed partial class BackendExchange
{
    /// <summary>How often a request that the service has not touched is sent again.</summary>
    private const int MaxRetries = 3;

    /// <summary>
    /// How often it is sent again because it came too late on a connection that the service ends after a number of requests: many go to
    /// each new connection at once, and the service takes some of them. Once their number is known (<see cref="Http2Connections.Learn"/>)
    /// none comes too late.
    /// </summary>
    private const int MaxLate = 32;

    /// <summary>Runs the exchange in HTTP/2.</summary>
    /// <returns>How it failed, or none; null: the service has to be asked in HTTP/1.1, and nothing was sent.</returns>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<BackendFailure?> RunHttp2Async(TunnelStream stream, StreamItem head, RequestPlan plan)
    {
        var retries = MaxRetries;
        var late = MaxLate;
        while (true)
        {
            // Step 6 in HTTP/2: a place on a connection, kept or new; then the request on it.
            var timing = plan.WantsTiming ? new ExchangeTiming(_context.TimeProvider) : default;
            var place = _service.Http2.On(_exchanges.Loop).TryReserve() is { } free
                ? new Http2Place(free, BackendFailure.None)
                : await ReserveHttp2Async().ConfigureAwait(false);
            if (place.SpeaksHttp1)
            {
                return null;
            }

            if (place.Connection is not { } connection)
            {
                return place.Failure.Detail == StreamResetDetail.ClosedBeforeResponse && _service.Target.IsHttps
                    && _service.Misunderstandings is { } misunderstandings
                    ? await misunderstandings.ExplainNoHttp2Async(place.Failure).ConfigureAwait(false)
                    : place.Failure;
            }

            var isConnect = plan.IsWebSocket && connection.AllowsConnect;
            if (plan.IsWebSocket && !isConnect && !_service.Versions.IsForced)
            {
                connection.Unreserve();
                return null;
            }

            var service = TryOpenHttp2(head, plan, connection, isConnect, out var accept, out var status);
            if (service is null)
            {
                connection.Unreserve();
                if (status != HeadWriteStatus.Ok)
                {
                    return new BackendFailure(
                        status == HeadWriteStatus.InvalidSyntax ? StreamResetReason.VisitorProtocol : StreamResetReason.BackendProtocol,
                        StreamResetDetail.HeadTooLarge);
                }

                // The connection has ended in between. A service that ends each of them at once serves nothing.
                if (!TryTakeRetry(connection, ref retries, ref late))
                {
                    return BackendFailure.Protocol(StreamResetDetail.ClosedBeforeResponse);
                }

                continue;
            }

            timing.MarkSent();
            _counters.Capture?.OnConnected();
            _counters.Capture?.OnSent("HTTP/2");
            var end = await ExchangeHttp2Async(stream, service, plan, accept, timing).ConfigureAwait(false);
            var hasHead = plan.Framing == RequestFraming.None;
            var mayBeRepeated = hasHead && (end.IsUntouched || (end.NothingCame && plan.IsReplayable));
            if (_connection.IsAborted || !mayBeRepeated || !TryTakeRetry(connection, ref retries, ref late))
            {
                return end.Failure;
            }
        }
    }

    private static bool TryTakeRetry(Http2Connection connection, ref int retries, ref int late) =>
        connection.LeftAfterRequests ? late-- > 0 : retries-- > 0;

    /// <summary>Moves request and response; the request at the service is given back.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<Http2ResponseEnd> ExchangeHttp2Async(
        TunnelStream stream, Http2Stream service, RequestPlan plan, byte[]? accept, ExchangeTiming timing)
    {
        var id = service.Id;
        var end = new Http2ResponseEnd(new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None), false, false, false);
        try
        {
            if (!service.LocalEnded)
            {
                stream.ConsumeHead();
                _requestPump = Http2RequestPump.RunAsync(stream, service, plan, _context.Buffers, _counters).Preserve();
            }

            _connection.Hold(service, id);
            end = await Http2ResponsePump.RunAsync(stream, service, accept, _counters, timing).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            // A fault of our own ends this exchange: the request's pump is made to end below.
            _service.Http2.Faults.Add("exchange in HTTP/2", exception);
        }

        try
        {
            if (!end.IsComplete)
            {
                // A write that finds the stream reset may come before the call that reports the reset: the visitor's code is known by then.
                service.Cancel(id, stream.VisitorCode());
            }

            if (_requestPump is { } pump)
            {
                if (!end.IsComplete && !pump.IsCompleted)
                {
                    stream.Reset(end.Failure.IsNone ? StreamResetReason.Cancel : end.Failure.Reason, end.Failure.Detail);
                }

                // A service may answer before it has read the whole body; ProxyEntry then says when to stop.
                await pump.ConfigureAwait(false);
            }
        }
        finally
        {
            _requestPump = null;
            _connection.LetGoOfStream();
            service.Release();
        }

        return end;
    }

    private async ValueTask<Http2Place> ReserveHttp2Async()
    {
        using var connecting = new CancellationTokenSource();
        var place = _connection.BeginWait(connecting)
            ? await _service.Http2.On(_exchanges.Loop).ReserveAsync(connecting.Token).ConfigureAwait(false)
            : new Http2Place(null, BackendFailure.None);
        _connection.EndWait();
        return place;
    }

    private Http2Stream? TryOpenHttp2(
        StreamItem head, RequestPlan plan, Http2Connection connection, bool isConnect, out byte[]? accept, out HeadWriteStatus status)
    {
        HeaderBlock.TryRead(head.Memory.Span, out var block);
        accept = isConnect ? AcceptOf(block) : null;
        status = HeadWriteStatus.DestinationTooSmall;
        for (var size = HeadBuffer; size <= MaxHeadBuffer && status == HeadWriteStatus.DestinationTooSmall; size *= 2)
        {
            var buffer = _context.Buffers.Rent(size);
            try
            {
                status = _service.Http2Heads.Write(block, isConnect, buffer, out var length);
                if (status == HeadWriteStatus.Ok)
                {
                    var ends = !isConnect && plan.Framing is RequestFraming.None or RequestFraming.Raw;
                    return connection.TryOpen(buffer.AsSpan(0, length), ends, plan.Method == KnownMethod.Head);
                }
            }
            finally
            {
                _context.Buffers.Return(buffer);
            }
        }

        return null;
    }

    /// <summary>What a service would have answered to the visitor's key; HTTP/2 has neither (RFC 8441 section 5).</summary>
    [SuppressMessage("Security", "CA5350", Justification = "RFC 6455 says SHA-1; nothing is protected by it.")]
    private static byte[] AcceptOf(scoped in HeaderBlock block)
    {
        var key = "";
        foreach (var field in block.Fields)
        {
            if (KnownFields.Classify(field.Name) == KnownField.SecWebSocketKey)
            {
                key = Encoding.Latin1.GetString(field.Value).Trim();
            }
        }

        return Encoding.ASCII.GetBytes(
            Convert.ToBase64String(SHA1.HashData(Encoding.Latin1.GetBytes(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))));
    }
}
