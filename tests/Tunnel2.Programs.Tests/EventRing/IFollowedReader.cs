using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Programs.Tests.EventRing;

/// <summary>A reader of any kind, as a <see cref="Follower"/> needs it.</summary>
internal interface IFollowedReader : IDisposable
{
    long Cursor { get; }

    long Lag { get; }

    long Missed { get; }

    RingReadStatus TryReadBatch(RingBatch batch, out RingGap gap);
}
