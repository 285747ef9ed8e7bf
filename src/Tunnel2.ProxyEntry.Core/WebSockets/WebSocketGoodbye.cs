using Tunnel2.ProxyEntry.Requests;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.WebSockets;

/// <summary>
/// Says goodbye to a WebSocket's visitor when its session is about to end: a Close frame with code 1001, put between two frames of the
/// backend, so that browsers connect again at once. What the backend sends behind it is dropped; the visitor's own Close frame reaches the
/// backend and ends the exchange. One pump calls <see cref="BeginWrite"/> and <see cref="EndWriteAsync"/> by turns; the goodbye itself may
/// come from any thread.
/// </summary>
internal sealed class WebSocketGoodbye : IAsyncDisposable
{
    /// <summary>1001, "going away" (RFC 6455 section 7.4.1), without a word.</summary>
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
    /// <param name="leaving">Cancelled when goodbye is to be said.</param>
    public WebSocketGoodbye(UpgradedConnection visitor, CancellationToken leaving)
    {
        _visitor = visitor;
        _registration = leaving.UnsafeRegister(static self => ((WebSocketGoodbye)self!).Want(), this);
    }

    /// <summary>The pump is about to write bytes of the backend.</summary>
    /// <param name="bytes">Them.</param>
    /// <returns>How many of them may be written: all, or those of the frame that is under way, or none.</returns>
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

    /// <summary>The pump has written what it might. Says goodbye where it was wanted meanwhile and a frame has ended.</summary>
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

    /// <summary>No goodbye any more; one that is being said is waited for.</summary>
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
                // Whoever cancels the token is not held up by a visitor that reads slowly.
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
            // The visitor has left, which the pump learns by itself.
        }
    }
}
