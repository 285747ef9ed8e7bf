using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>
/// The one live subscriber of the ancestor's benchmark: every change goes into its queue, which is emptied outside the clock. The queue is
/// the cheapest that several publishers can share, so that it hides little of what the stores differ in.
/// </summary>
internal sealed class LiveSubscriber : IMessageObserver<int>
{
    private readonly int[] _queue;
    private int _tail;

    /// <summary>
    /// Creates a queue; more changes than <paramref name="capacity"/> without a <see cref="Drain"/> are a fault of the run.
    /// </summary>
    public LiveSubscriber(int capacity) => _queue = new int[capacity];

    public void OnSet(string key, int value) => _queue[Interlocked.Increment(ref _tail) - 1] = value;

    public void OnDeleted(string key) => OnSet(key, -1);

    public void OnReset() => OnSet("", -1);

    /// <summary>Empties the queue.</summary>
    /// <returns>How many changes were in it.</returns>
    public int Drain() => Interlocked.Exchange(ref _tail, 0);
}
