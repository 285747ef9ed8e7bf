using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Net;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>A visitor's connection without HTTP, from its first byte to the end of both directions.</summary>
[SuppressMessage("Design", "CA1001", Justification = "Disposed of by RunAsync, which its one caller awaits.")]
internal sealed class RawConnection
{
    /// <summary>How long a cut waits for a visitor that reads nothing of what was sent before.</summary>
    private static readonly TimeSpan _deliveryLimit = TimeSpan.FromSeconds(10);


    private readonly RawFront _front;
    private readonly VisitorTransport _transport;
    private readonly RawTarget _target;
    private readonly CancellationTokenSource _left = new();
    private volatile bool _isAborted;

    public RawConnection(RawFront front, VisitorTransport transport, RawTarget target)
    {
        _front = front;
        _transport = transport;
        _target = target;
    }

    /// <summary>The connection's name in logs.</summary>
    public string Id => _transport.Id;

    /// <summary>The visitor.</summary>
    public IPEndPoint? Source => _transport.Remote;

    /// <summary>The address that the visitor called.</summary>
    public IPEndPoint? Destination => _transport.Local;

    /// <summary>How many bytes are held at most while no code reads.</summary>
    public int ReadAhead => _transport.ReadAhead;

    /// <summary>The visitor's bytes.</summary>
    public PipeReader Input => _transport.Input;

    /// <summary>The connection's loop, and how it moves; null if the engine has no loops.</summary>
    public ILoopFeature? Loop => _transport.Loop;

    /// <summary>Signalled when the visitor has left.</summary>
    public CancellationToken VisitorLeft => _left.Token;

    /// <summary>Serves the connection until both directions have ended. Never throws.</summary>
    public async Task RunAsync()
    {
        try
        {
            var request = new ForwardedRequest
            {
                OwnIdleLimit = _front.IdleLimitOf(_target.Kind),
                HalfEndedLimit = _front.HalfClosedLimit,
            };
            var exchange = new RawExchange(this, _target, request);
            await _front.Forwarder.ForwardAsync(exchange, request).ConfigureAwait(false);
            if (exchange.Refusal is { } refusal)
            {
                await RefuseAsync(refusal).ConfigureAwait(false);
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            Abort();
        }
        catch (Exception exception)
        {
            ProxyEntryLog.ConnectionFault(_front.Logger, Id, exception);
            Abort();
        }
        finally
        {
            _front.Remove(this);
            _transport.Output.Release();
            _left.Dispose();
        }

        if (!_isAborted)
        {
            await _transport.OutputPipe.CompleteAsync().ConfigureAwait(false);
            await Input.CompleteAsync().ConfigureAwait(false);
        }
    }

    /// <summary>Sends bytes.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data) => _transport.Output.SendAsync(data);

    /// <summary>Ends the direction to the visitor.</summary>
    public ValueTask<bool> EndSendAsync() => _transport.Output.EndAsync();

    /// <summary>The connection leads nowhere. In TLS the visitor learns it by an alert, in TCP by a reset.</summary>
    public async Task RefuseAsync(ProxyError error)
    {
        if (_target.Kind == SessionKind.Tls
            && await SendAsync(AlertOf(error)).ConfigureAwait(false))
        {
            await EndSendAsync().ConfigureAwait(false);
            return;
        }

        Abort();
    }

    private static ReadOnlyMemory<byte> AlertOf(ProxyError error) => error switch
    {
        ProxyError.UnknownName or ProxyError.UnknownHost => TlsAlerts.UnrecognizedName,
        ProxyError.AddressNotAllowed => TlsAlerts.AccessDenied,
        _ => TlsAlerts.InternalError,
    };

    /// <summary>
    /// Waits until the visitor's system has acknowledged all sent bytes, because a reset would destroy those on their way.
    /// </summary>
    public ValueTask DeliverAsync() => Delivery.WaitAsync(_transport.Link, () => _isAborted, _front.Clock, _deliveryLimit);

    /// <summary>Ends the connection by a reset. From any thread.</summary>
    public void Abort()
    {
        if (!_isAborted)
        {
            _isAborted = true;
            _transport.Abort();
        }
    }

    /// <summary>
    /// Ends the exchange if the connection is broken. While nothing is read from a visitor, no read reports it.
    /// </summary>
    public void EndIfLost()
    {
        if (_transport.Link is not { IsLost: true })
        {
            return;
        }

        try
        {
            _left.Cancel();
        }
        catch (ObjectDisposedException)
        {
            // The connection has just ended by itself.
        }
    }
}
