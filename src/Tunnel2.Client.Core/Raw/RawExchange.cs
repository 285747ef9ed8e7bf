using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Transport.ProxyHeaders;

namespace Tunnel2.Client.Core.Raw;

/// <summary>
/// One connection of a visitor to a service without HTTP, from its stream to the service and back. Each direction ends by itself, and a
/// break of one end is a break for the other.
/// </summary>
/// <remarks>
/// Who owns what: the exchange owns the stream until <see cref="TunnelStream.Release"/> and the connection until it is closed. The pump
/// towards the service borrows both while it runs, and the exchange waits for it before it lets go of either.
/// </remarks>
internal sealed class RawExchange(RawExchanges exchanges, TunnelStream stream)
{
    /// <summary>How long a service may take for the bytes that came before the visitor's break.</summary>
    private static readonly TimeSpan _deliveryLimit = TimeSpan.FromSeconds(10);

    private readonly ExchangeContext _context = exchanges.Context;
    private readonly ExchangeCounters _counters = new();
    private readonly ExchangeConnection _connection = new(byReset: true);
    private RawHead? _head;
    private ITimer? _delivery;
    private volatile bool _moves;

    /// <summary>Serves the stream to its end. Never throws.</summary>
    public async Task RunAsync()
    {
        var started = _context.TimeProvider.GetTimestamp();
        _connection.Begin(stream.Id);
        BackendFailure failure;
        try
        {
            failure = await ServeAsync().ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A fault of ours ends this connection and nothing else.
            failure = new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None);
        }

        var isAborted = _connection.End(out var left);
        Volatile.Read(ref _delivery)?.Dispose();
        if (isAborted || !failure.IsNone)
        {
            left?.Discard();
        }
        else
        {
            left?.Dispose();
        }

        if (isAborted)
        {
            // What failed, failed because the stream was reset.
            failure = BackendFailure.None;
        }

        if (!failure.IsNone)
        {
            stream.ResetAfterHead(failure.Reason, failure.Detail);
        }

        Report(failure, _context.TimeProvider.GetElapsedTime(started));
        stream.Release();
        _context.End();
    }

    private async ValueTask<BackendFailure> ServeAsync()
    {
        if (!RawHead.TryTake(exchanges, stream, out _head, out var failure))
        {
            return failure;
        }

        stream.NotifyReset(static (exchange, id) => ((RawExchange)exchange!).OnReset(id), this);
        (var connection, failure) = await ConnectAsync().ConfigureAwait(false);
        if (connection is null)
        {
            return failure;
        }

        if (exchanges.Header != ProxyHeaderVersion.None && !await TrySendHeaderAsync(connection).ConfigureAwait(false))
        {
            return BackendFailure.Protocol(StreamResetDetail.ClosedBeforeResponse);
        }

        _counters.StatusCode = 101;
        if (!RawHead.TryAnswer(stream))
        {
            return BackendFailure.None;
        }

        _moves = true;
        var (end, sent) = await RawPump.RunBothWaysAsync(
            stream, connection, _context.Buffers, _counters, first: default, byReset: true).ConfigureAwait(false);
        return !end.IsComplete ? end.Failure
            : sent == RequestPumpEnd.BackendClosed ? BackendFailure.Protocol(StreamResetDetail.ClosedInBody)
            : BackendFailure.None;
    }

    /// <summary>
    /// The visitor's connection broke. The pump sends what came before and then breaks the service's; a service that does not take it is
    /// cut all the same. The call may come late, when the stream already serves another exchange: then its id finds nothing.
    /// </summary>
    private void OnReset(StreamId id)
    {
        if (_moves)
        {
            Volatile.Write(
                ref _delivery,
                _context.TimeProvider.CreateTimer(_ => _connection.Abort(id), null, _deliveryLimit, Timeout.InfiniteTimeSpan));
        }
        else
        {
            _connection.Abort(id);
        }
    }

    private async ValueTask<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync()
    {
        using var connecting = new CancellationTokenSource();
        var (connection, failure) = _connection.BeginWait(connecting)
            ? await _context.Connector.ConnectAsync(null, connecting.Token, exchanges.Loop).ConfigureAwait(false)
            : (null, default);
        _connection.EndWait();
        if (connection is not null)
        {
            _connection.Hold(connection);
        }

        return (connection, failure);
    }

    private async ValueTask<bool> TrySendHeaderAsync(BackendConnection connection)
    {
        var buffer = connection.RentBuffer(ProxyHeader.MaxWritten);
        var length = ProxyHeader.Write(exchanges.Header, _head?.Source, _head?.Destination, buffer);
        try
        {
            await connection.Transport.SendAsync(buffer.AsMemory(0, length)).ConfigureAwait(false);
            return true;
        }
        catch (IOException)
        {
            return false;
        }
        finally
        {
            connection.ReturnBuffer();
        }
    }

    private void Report(BackendFailure failure, TimeSpan duration)
    {
        var trouble = ExchangeFailureWords.For(failure, stream.Failure);
        if (_context.Events.WantsRequests)
        {
            var visitor = _head?.Source?.ToString() ?? "";
            _context.Events.RequestCompleted(
                new RequestSummary("CONNECT", visitor, _counters.StatusCode, duration, _counters.RequestBytes, _counters.ResponseBytes)
                {
                    Error = trouble?.Error,
                    Leg = trouble?.Leg,
                });
        }
        else if (!failure.IsNone && trouble is { Leg: not "visitor" } reported)
        {
            _context.Events.RequestFailed(reported.Leg, reported.Error);
        }
    }
}
