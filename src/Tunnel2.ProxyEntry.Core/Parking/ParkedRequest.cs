using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Parking;

/// <summary>
/// The place of one waiting request. Its owner calls either <see cref="WaitAsync"/> or <see cref="Leave"/>, exactly once; both free the
/// place. Thread-safe.
/// </summary>
internal sealed class ParkedRequest
{
    private readonly TaskCompletionSource<ParkOutcome> _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ParkingLot _lot;

    internal ParkedRequest(ParkingLot lot, string name, AgentIdentity? owner, AddressKey address, long deadline, long bytes)
    {
        _lot = lot;
        Name = name;
        Owner = owner;
        Address = address;
        Deadline = deadline;
        Bytes = bytes;
    }

    /// <summary>The name that the request waits for.</summary>
    public string Name { get; }

    /// <summary>The owner whose session is waited for; null for any owner.</summary>
    internal AgentIdentity? Owner { get; }

    /// <summary>The visitor's address.</summary>
    internal AddressKey Address { get; }

    /// <summary>When the wait ends, as a timestamp of the lot's clock.</summary>
    internal long Deadline { get; }

    /// <summary>Bytes that count against the lot's limit.</summary>
    internal long Bytes { get; }

    /// <summary>Whether the place is still taken. Guarded by the lot's gate.</summary>
    internal bool IsIn { get; set; } = true;

    /// <summary>Where it is among the requests of its address. Guarded by the lot's gate.</summary>
    internal LinkedListNode<ParkedRequest>? OfAddress { get; set; }

    /// <summary>Waits until the name is registered, the time is over, or the visitor has left.</summary>
    public async ValueTask<ParkOutcome> WaitAsync(CancellationToken visitorLeft)
    {
        using var left = visitorLeft.UnsafeRegister(static self => ((ParkedRequest)self!).End(ParkOutcome.VisitorLeft), this);
        return await _done.Task.ConfigureAwait(false);
    }

    /// <summary>Gives the place back without having waited.</summary>
    public void Leave() => End(ParkOutcome.Returned);

    /// <summary>Ends the wait. The place is already free.</summary>
    internal void Complete(ParkOutcome outcome) => _done.TrySetResult(outcome);

    private void End(ParkOutcome outcome)
    {
        _lot.Remove(this);
        Complete(outcome);
    }
}
