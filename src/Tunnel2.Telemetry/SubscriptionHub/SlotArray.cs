namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// The slots of a channel as publishers see them. An element never moves within its array, so a walk over it meets everybody who was
/// there when the walk began and is still there when the walk gets to the slot.
/// </summary>
/// <param name="capacity">The number of slots.</param>
internal sealed class SlotArray(int capacity)
{
    private int _used;

    /// <summary>Gets the slots; <see langword="null"/> is a slot that nobody has, or that somebody has left.</summary>
    public Subscriber?[] Slots { get; } = new Subscriber?[capacity];

    /// <summary>Gets or sets how many slots have ever been used; it only grows, after the slot was filled.</summary>
    public int Used
    {
        get => Volatile.Read(ref _used);
        set => Volatile.Write(ref _used, value);
    }
}
