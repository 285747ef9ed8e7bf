using Tunnel2.ProxyEntry.Requests;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.WebSockets;

/// <summary>
/// Says goodbye to the visitor of a WebSocket when its session is about to end: it puts a Close frame with code 1001 between two frames of
/// the backend, so that browsers connect again at once. Later bytes of the backend are dropped. The visitor's own Close frame reaches the
/// backend and ends the exchange. One pump calls <see cref="BeginWrite"/> and <see cref="EndWriteAsync"/> by turns; the goodbye itself may
/// come from any thread.
/// </summary>
internal sealed class WebSocketGoodbye : IAsyncDisposable
{
    /// <summary>1001, "going away" (RFC 6455 section 7.4.1), without a text.</summary>
    private static readonly byte[] _closeFrame = WebSocketFrame.CloseWith(1001, "");

    private readonly Lock _gate = new();
    private readonly UpgradedConnection _visitor;
    private readonly CancellationTokenRegistration _registration;
    private WebSocketFrameTracker _tracker;
    private Task _saying = Task.CompletedTask;
    private bool _wanted;
    private bool _writing;
    private bool _said;

    /// <param name="visitor">The upgraded connection.</param>
    /// <param name="leaving">Cancelled when the goodbye should be sent.</param>
    public WebSocketGoodbye(UpgradedConnection visitor, CancellationToken leaving)
    {
        _visitor = visitor;
        _registration = leaving.UnsafeRegister(static self => ((WebSocketGoodbye)self!).Want(), this);
    }

    /// <summary>The pump will write bytes of the backend next.</summary>
    /// <param name="bytes">The bytes.</param>
    /// <returns>How many of them may be written: all, or those up to the end of the current frame, or none.</returns>
    public int BeginWrite(ReadOnlySpan<byte> bytes)
    {
        lock (_gate)
        {
            if (_said)
            {
                return 0;
            }

            _writing = true;
            return _tracker.Advance(bytes, stopAtBoundary: _wanted && !_tracker.HasClosed);
        }
    }

    /// <summary>
    /// The pump has written what it was allowed to. Sends the goodbye if it was requested in that time and a frame has ended.
    /// </summary>
    public ValueTask EndWriteAsync()
    {
        lock (_gate)
        {
            _writing = false;
            if (!TryTakeTurnUnsynchronized())
            {
                return default;
            }
        }

        return SayAsync();
    }

    /// <summary>No goodbye from now on; waits for one that is being sent.</summary>
    public async ValueTask DisposeAsync()
    {
        await _registration.DisposeAsync().ConfigureAwait(false);
        Task saying;
        lock (_gate)
        {
            _said = true;
            saying = _saying;
        }

        await saying.ConfigureAwait(false);
    }

    private void Want()
    {
        lock (_gate)
        {
            _wanted = true;
            if (TryTakeTurnUnsynchronized())
            {
                // On the pool, so that a visitor that reads slowly does not hold up the code that cancels the token.
                _saying = Task.Run(() => SayAsync().AsTask());
            }
        }
    }

    private bool TryTakeTurnUnsynchronized()
    {
        if (!_wanted || _said || _writing || _tracker is not { IsAtBoundary: true, HasClosed: false, IsBroken: false })
        {
            return false;
        }

        _said = true;
        return true;
    }

    private async ValueTask SayAsync()
    {
        try
        {
            await _visitor.SendAsync(_closeFrame).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // The visitor has left; the pump notices it by itself.
        }
    }
}
