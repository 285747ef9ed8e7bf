namespace Tunnel2.Protocol.FlowControl;

/// <summary>
/// The sender's side of a credit window: how many bytes may still be sent. A mutable struct; the caller holds the lock that guards it.
/// </summary>
public struct SendCredit
{
    private long _available;

    /// <summary>Starts with the peer's window.</summary>
    /// <param name="initial">Bytes, 0…<see cref="ProtocolLimits.MaxCredit"/>.</param>
    public SendCredit(int initial) => _available = initial;

    /// <summary>Bytes that may be sent now; never negative.</summary>
    public readonly long Available => _available;

    /// <summary>Takes up to <paramref name="wanted"/> bytes of credit.</summary>
    /// <param name="wanted">Bytes wanted, ≥ 0.</param>
    /// <returns>Bytes granted, 0…<paramref name="wanted"/>.</returns>
    public int Take(int wanted)
    {
        var granted = (int)Math.Min(wanted, _available);
        _available -= granted;
        return granted;
    }

    /// <summary>Adds credit that the peer granted.</summary>
    /// <param name="increment">Bytes, ≥ 1.</param>
    /// <returns>False, and nothing changed, when the sum would exceed <see cref="ProtocolLimits.MaxCredit"/>.</returns>
    public bool TryAdd(int increment)
    {
        if (_available + increment > ProtocolLimits.MaxCredit)
        {
            return false;
        }

        _available += increment;
        return true;
    }
}
