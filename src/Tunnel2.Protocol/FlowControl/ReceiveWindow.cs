using System.Diagnostics;

namespace Tunnel2.Protocol.FlowControl;

/// <summary>
/// The receiver's side of a credit window. Bytes go through three states: granted (the peer may send them), held (they arrived and were not
/// consumed), returnable (consumed, and not granted again yet). Their sum is always the window's size. The size may grow at any time, and
/// shrink by bytes that are consumed: granted credit is never taken back. A mutable struct; the caller holds the lock that guards it.
/// </summary>
public struct ReceiveWindow
{
    private int _size;
    private int _granted;
    private int _returnable;

    /// <summary>Starts with everything granted.</summary>
    /// <param name="size">Bytes, <see cref="ProtocolLimits.MinWindow"/>…<see cref="ProtocolLimits.MaxCredit"/>.</param>
    public ReceiveWindow(int size)
    {
        _size = size;
        _granted = size;
    }

    /// <summary>The window's size in bytes.</summary>
    public readonly int Size => _size;

    /// <summary>Bytes that the peer may still send.</summary>
    public readonly int Granted => _granted;

    /// <summary>Bytes that arrived and were not consumed yet.</summary>
    public readonly int Held => _size - _granted - _returnable;

    /// <summary>Bytes consumed for which no WINDOW was sent yet.</summary>
    public readonly int Returnable => _returnable;

    /// <summary>Counts bytes that arrived.</summary>
    /// <param name="count">Bytes, ≥ 0.</param>
    /// <returns>False when the peer sent more than it may: the session ends.</returns>
    public bool TryReceive(int count)
    {
        if (count > _granted)
        {
            return false;
        }

        _granted -= count;
        return true;
    }

    /// <summary>Counts consumed bytes: written to the visitor's or the backend's socket, or dropped with their stream.</summary>
    /// <param name="count">Bytes, 0…<see cref="Held"/>.</param>
    /// <returns>
    /// The increment to send in a WINDOW now, or 0. Credit is returned in portions of a quarter of the window, so that a peer does not run
    /// out of credit and WINDOW frames stay rare.
    /// </returns>
    public int Consume(int count) => Consume(count, _size / 4);

    /// <summary>The same with another portion than a quarter of the window.</summary>
    /// <param name="count">Bytes, 0…<see cref="Held"/>.</param>
    /// <param name="portion">The number of returnable bytes from which credit is returned.</param>
    /// <returns>The increment to send in a WINDOW now, or 0.</returns>
    public int Consume(int count, int portion)
    {
        Debug.Assert(count >= 0 && count <= Held, "Only bytes that arrived can be consumed.");
        _returnable += count;
        return _returnable >= portion ? TakeReturnable() : 0;
    }

    /// <summary>Makes the window smaller by consumed bytes: their credit does not return.</summary>
    /// <param name="count">Bytes, 0…<see cref="Held"/>.</param>
    public void Retire(int count)
    {
        Debug.Assert(count >= 0 && count <= Held, "Only bytes that arrived can be consumed.");
        _size -= count;
    }

    /// <summary>Makes the window larger: grants the peer the difference, and all returnable bytes.</summary>
    /// <param name="by">Bytes, ≥ 0; the size stays at or below <see cref="ProtocolLimits.MaxCredit"/>.</param>
    /// <returns>The increment to send: <paramref name="by"/> plus all returnable bytes.</returns>
    public int Grow(int by)
    {
        Debug.Assert(by >= 0 && _size + (long)by <= ProtocolLimits.MaxCredit, "Credit has a bound (docs/protocol.md, section 7).");
        _size += by;
        _returnable += by;
        return TakeReturnable();
    }

    /// <summary>Grants all returnable bytes.</summary>
    /// <returns>The increment to send, or 0.</returns>
    public int TakeReturnable()
    {
        var increment = _returnable;
        _returnable = 0;
        _granted += increment;
        return increment;
    }
}
