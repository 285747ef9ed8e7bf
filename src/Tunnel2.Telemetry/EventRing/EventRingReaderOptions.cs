namespace Tunnel2.Telemetry.EventRing;

/// <summary>How a reader attaches. Immutable.</summary>
internal sealed record EventRingReaderOptions
{
    /// <summary>Start with what is published from now on.</summary>
    internal const long FromHead = -1;

    /// <summary>Start with the oldest record that is still there.</summary>
    internal const long FromOldest = -2;

    /// <summary><see cref="FromHead"/> (default), <see cref="FromOldest"/>, or the sequence number to start with.</summary>
    internal long From { get; init; } = FromHead;

    /// <summary>Polls before <see cref="EventRingReader.Wait"/> puts the thread to sleep. Default 200, about 10 µs.</summary>
    internal int SpinBeforeSleep { get; init; } = 200;

    /// <summary>
    /// Where positive, <see cref="EventRingReader.Wait"/> looks again after so long instead of asking producers to wake it: a producer then
    /// never enters the kernel for this reader. Default zero.
    /// </summary>
    internal TimeSpan PollEvery { get; init; }
}
