namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// The slots of a channel as publishers see them. An element never moves within its array. So a walk meets every subscriber that was there
/// when the walk began and is still there when it reaches the slot.
/// </summary>
/// <param name="capacity">The number of slots.</param>
internal sealed class SlotArray(int capacity)
{
    private int _used;

    /// <summary>Gets the slots; <see langword="null"/> is an unused slot or a hole.</summary>
    public Subscriber?[] Slots { get; } = new Subscriber?[capacity];

    /// <summary>Gets or sets how many slots have ever been used; it only grows, after the slot was filled.</summary>
    public int Used
    {
        get => Volatile.Read(ref _used);
        set => Volatile.Write(ref _used, value);
    }
}
