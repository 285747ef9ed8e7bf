using System.IO.Pipelines;
using Tunnel2.Http1;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.Http1.Output;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// A visitor's connection. It reads one request, gives it to the forwarder and answers it, and only then reads the next one. All objects of
/// a request are reused for the next.
/// </summary>
internal sealed partial class Http1Connection
{
    /// <summary>How many bytes of an unwanted body are read to keep the connection; with more it ends.</summary>
    private const long MaxDrained = 256 * 1024;

    /// <summary>How many bytes are dropped after the last answer, so that the answer arrives.</summary>
    private const long MaxLingered = 16 * 1024 * 1024;

    private readonly Http1Front _front;
    private readonly VisitorTransport _transport;
    private readonly PipeReader _input;
    private readonly VisitorOutput _output;
    private readonly RequestHeadReader _heads;
    private readonly Http1Exchange _exchange;
    private bool _hasServed;
    private bool _cameLate;

    public Http1Connection(Http1Front front, VisitorTransport transport)
    {
        _front = front;
        _transport = transport;
        _input = transport.Input;
        _output = transport.Output;
        _heads = new RequestHeadReader(_input, front.Limits, front.Buffers);
        var fields = new VisitorFields(transport.Remote, transport.LocalPort, transport.IsTls, front.Settings.TrustedProxies);
        var body = new Http1RequestBody(_input, front.Limits);
        _exchange = new Http1Exchange(this, fields, _heads.Parser, body, front.Settings.MaxRequestBodyBytes ?? long.MaxValue);
        _exchange.WriteTo(_output);
        _clock.Begin(ConnectionPhase.New, front.Sweep.Now);
    }

    /// <summary>The connection's name in logs.</summary>
    public string Id => _transport.Id;

    /// <summary>How many bytes are held at most while no code reads.</summary>
    public int ReadAhead => _transport.ReadAhead;

    /// <summary>The connection's loop, and how it moves; null if the engine has no loops.</summary>
    public ILoopFeature? Loop => _transport.Loop;

    /// <summary>What its handshake said about the visitor's certificate; null: it asked for none.</summary>
    public VisitorCertificate? Certificate => _transport.Certificate;

    /// <summary>The number of the sweep's set that it is in; for the sweep alone.</summary>
    public int SweptBy { get; set; }

    /// <summary>The time as the value of a Date field.</summary>
    public ReadOnlySpan<byte> Date => _front.Sweep.Date;

    /// <summary>Whether the server stops, so that the current request is the last one.</summary>
    public bool IsStopping => _transport.Stopping.IsCancellationRequested;

    /// <summary>Whether a response written now should ask the visitor to leave, although the connection is still good.</summary>
    public bool IsLastCall => IsStopping || _front.Drain.IsDraining || _isEvicted;

    /// <summary>Serves the connection until it has ended. Never throws.</summary>
    /// <returns>False when the visitor speaks HTTP/2; the connection is then unchanged.</returns>
    public async Task<bool> RunAsync()
    {
        _front.Sweep.Add(this);
        var ended = _transport.InputEnded.UnsafeRegister(static self => ((Http1Connection)self!).OnInputEnded(), this);
        var stopping = _transport.Stopping.UnsafeRegister(static self => ((Http1Connection)self!).OnStopping(), this);
        var outcome = HeadReadOutcome.End;
        try
        {
            // The two waits that nearly every request has, for its head and for its answer, are in this method: a method of their own would
            // be allocated for each request.
            do
            {
                BeginHead();
                outcome = HeadReadOutcome.NeedMore;
                while (outcome == HeadReadOutcome.NeedMore && MayReadHead)
                {
                    outcome = OnHeadRead(await _input.ReadAsync().ConfigureAwait(false));
                }

                if (outcome != HeadReadOutcome.Request)
                {
                    break;
                }

                if (_exchange.IsUpgrade && _front.Uplinks is { IsOn: true } uplinks && _exchange.AsksForUplink)
                {
                    // Not a visitor: an agent whose network lets nothing else out.
                    await uplinks.ServeAsync(_exchange, this, _transport).ConfigureAwait(false);
                    continue;
                }

                // Step 1: the head is read; everything that is not HTTP comes after it.
                await _front.Forwarder.ForwardAsync(_exchange, _exchange.State).ConfigureAwait(false);
            }
            while (await FinishAsync().ConfigureAwait(false));
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            // The visitor is gone, so no answer is possible.
        }
        catch (Exception exception)
        {
            ProxyEntryLog.ConnectionFault(_front.Logger, Id, exception);
            Abort();
        }
        finally
        {
            await ended.DisposeAsync().ConfigureAwait(false);
            await stopping.DisposeAsync().ConfigureAwait(false);
            _front.Sweep.Remove(this);
            _heads.Release();
            _exchange.Body.Release();
            _output.Release();
            _left.Dispose();
        }

        if (outcome == HeadReadOutcome.Http2)
        {
            return false;
        }

        await _transport.OutputPipe.CompleteAsync().ConfigureAwait(false);
        await _input.CompleteAsync().ConfigureAwait(false);
        return true;
    }

    /// <summary>Whether a head may still come: one that has begun is still served.</summary>
    private bool MayReadHead => !IsStopping || !_hasServed || _clock.Phase == ConnectionPhase.Head;

    private void BeginHead()
    {
        _heads.Begin();
        _cameLate = false;
        if (_hasServed)
        {
            _clock.Begin(ConnectionPhase.Idle, _front.Sweep.Now);
        }
    }

    /// <summary>Parses the received bytes of a head.</summary>
    /// <returns><see cref="HeadReadOutcome.NeedMore"/> until the head is complete.</returns>
    private HeadReadOutcome OnHeadRead(in ReadResult read)
    {
        var buffer = read.Buffer;
        if (read.IsCanceled && _clock.Phase == ConnectionPhase.Expired)
        {
            if (!IsStopping || buffer.IsEmpty || _cameLate)
            {
                return OnHeadExpired(read);
            }

            // The request arrived when the idle connection was about to be closed.
            _cameLate = true;
            _clock.Begin(ConnectionPhase.Head, _front.Sweep.Now);
        }

        if (!buffer.IsEmpty && _clock.Phase != ConnectionPhase.Head && !_clock.TryMoveOn(ConnectionPhase.Head, _front.Sweep.Now))
        {
            return OnHeadExpired(read);
        }

        switch (_heads.Read(buffer, mayBeHttp2: !_hasServed))
        {
            case HeadReadOutcome.Request:
                if (!_clock.TryMoveOn(ConnectionPhase.Exchange, _front.Sweep.Now))
                {
                    // The rest arrived at the moment when its time ended.
                    _clock.Begin(ConnectionPhase.Exchange, _front.Sweep.Now);
                }

                BeginRequest(_heads.IsInvalid ? _heads.Parser.Error.ToProxyError() : null);
                return HeadReadOutcome.Request;
            case HeadReadOutcome.Http2:
                return HeadReadOutcome.Http2;
            default:
                return read.IsCompleted ? HeadReadOutcome.End : HeadReadOutcome.NeedMore;
        }
    }

    /// <summary>A visitor that has sent nothing gets no answer. One that has begun a head gets a 408.</summary>
    private HeadReadOutcome OnHeadExpired(in ReadResult read)
    {
        if (read.Buffer.IsEmpty || IsStopping)
        {
            _input.AdvanceTo(read.Buffer.End);
            return HeadReadOutcome.End;
        }

        if (_heads.Read(read.Buffer, mayBeHttp2: false) == HeadReadOutcome.NeedMore)
        {
            BeginRequest(Http1Error.RequestTimeout.ToProxyError());
        }
        else
        {
            BeginRequest(_heads.IsInvalid ? _heads.Parser.Error.ToProxyError() : null);
        }

        _clock.Begin(ConnectionPhase.Exchange, _front.Sweep.Now);
        return HeadReadOutcome.Request;
    }

    private void BeginRequest(ProxyError? fault)
    {
        _hasServed = true;
        _exchange.Begin(_heads.Head, fault);
        if (fault is null && (_exchange.HasBody || _exchange.IsUpgrade))
        {
            _heads.MoveOn();
            _exchange.HeadMoved(_heads.Head);
        }
    }

    /// <summary>Sends the rest of an answer and ends or keeps the connection as the response requires.</summary>
    /// <returns>Whether another request may follow.</returns>
    private async ValueTask<bool> FinishAsync()
    {
        _heads.Release();
        if (_exchange.IsUpgraded)
        {
            return false;
        }

        if (!_exchange.IsComplete || _isAborted)
        {
            if (_exchange.IsCut && !_isAborted)
            {
                // The rest of its framing is missing, which shows that the answer was cut.
                await LingerAsync().ConfigureAwait(false);
                return false;
            }

            // Cut: the visitor must not take it for a complete answer.
            Abort();
            return false;
        }

        if (!await FlushAsync().ConfigureAwait(false))
        {
            return false;
        }

        if (_exchange.KeepAlive && (_exchange.Body.IsFinished || await DrainBodyAsync().ConfigureAwait(false)))
        {
            return !IsStopping;
        }

        if (!_isEvicted && !MayCloseAtOnce())
        {
            await LingerAsync().ConfigureAwait(false);
        }

        return false;
    }

    /// <summary>
    /// Whether the visitor asked for the end itself and has sent nothing after its request. Then no unread bytes can reset the connection
    /// before the answer has arrived.
    /// </summary>
    private bool MayCloseAtOnce()
    {
        if (!_transport.SeesUnread || _exchange.Fault is not null || _exchange.Parser.KeepAlive || !_exchange.Body.IsFinished)
        {
            return false;
        }

        if (!_input.TryRead(out var read))
        {
            return true;
        }

        _input.AdvanceTo(read.Buffer.Start);
        return false;
    }

    /// <summary>Reads the rest of an unwanted body.</summary>
    /// <returns>Whether its end was found.</returns>
    private async ValueTask<bool> DrainBodyAsync()
    {
        _clock.Begin(ConnectionPhase.Draining, _front.Sweep.Now);
        var body = _exchange.Body;
        try
        {
            for (var drained = 0L; !body.IsFinished && drained < MaxDrained;)
            {
                var read = await body.ReadAsync().ConfigureAwait(false);
                drained += read.Buffer.Length;
                body.AdvanceTo(read.Buffer.End);
                if (_clock.Phase == ConnectionPhase.Expired)
                {
                    return false;
                }
            }
        }
        catch (BadHttpRequestException)
        {
            return false;
        }

        return body.IsFinished;
    }

    /// <summary>
    /// Ends the connection so that the answer arrives. A close with unread bytes is a reset, which may overtake the answer (RFC 9112
    /// section 9.6). So only our direction is ended, and bytes that still arrive are dropped for a while.
    /// </summary>
    private async ValueTask LingerAsync()
    {
        if (!await EndSendAsync().ConfigureAwait(false) && !_transport.IsTls)
        {
            return;
        }

        _clock.Begin(ConnectionPhase.Draining, _front.Sweep.Now);
        for (var drained = 0L; drained < MaxLingered;)
        {
            var read = await _input.ReadAsync().ConfigureAwait(false);
            drained += read.Buffer.Length;
            _input.AdvanceTo(read.Buffer.End);
            if (read.IsCompleted || _clock.Phase == ConnectionPhase.Expired)
            {
                return;
            }
        }
    }
}
