namespace Tunnel2.Telemetry.EventRing;

/// <summary>How a reader attaches. Immutable.</summary>
internal sealed record EventRingReaderOptions
{
    /// <summary>Start with the next record that is published.</summary>
    internal const long FromHead = -1;

    /// <summary>Start with the oldest record that the ring still has.</summary>
    internal const long FromOldest = -2;

    /// <summary><see cref="FromHead"/> (default), <see cref="FromOldest"/>, or the sequence number to start with.</summary>
    internal long From { get; init; } = FromHead;

    /// <summary>How often <see cref="EventRingReader.Wait"/> polls before the thread sleeps. Default 200, about 10 µs.</summary>
    internal int SpinBeforeSleep { get; init; } = 200;

    /// <summary>
    /// If positive, <see cref="EventRingReader.Wait"/> polls again after this time instead of asking producers to wake it: then no producer
    /// enters the kernel for this reader. Default zero.
    /// </summary>
    internal TimeSpan PollEvery { get; init; }
}
