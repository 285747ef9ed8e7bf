using Tunnel2.Laboratory.EventRing;
using Tunnel2.Programs.Tests.EventRing;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Laboratory.Tests.EventRing;

public sealed class KilledUnderWaitTests : IDisposable
{
    private readonly KilledProcesses _processes = new();

    public void Dispose() => _processes.Dispose();

    [Fact]
    public async Task A_producer_killed_at_any_moment_costs_what_it_had_not_committed_and_nothing_else()
    {
        using SharedEventRing ring = Create(new EventRingOptions { Capacity = 1024, ClaimTimeout = TimeSpan.FromMilliseconds(100) });
        using var follower = new Follower(ring, new FollowedReader(new RegisteredReader(ring, "follower")));
        var own = new WaitingProducer(ring);
        await _processes.KillProducersAsync(ring, follower, () => Publish(own), waits: true);
    }

    [Fact]
    public async Task A_reader_killed_at_any_moment_stops_no_other_and_loses_no_record()
    {
        var options = new EventRingOptions { Capacity = 65_536, Consumers = 2, ClaimTimeout = TimeSpan.FromMinutes(1) };
        using SharedEventRing ring = Create(options);
        using var follower = new Follower(ring, new FollowedReader(new RegisteredReader(ring, "follower")));
        var own = new WaitingProducer(ring, staleAfter: TimeSpan.FromMilliseconds(500));
        await _processes.KillReadersAsync(ring, follower, () => Publish(own), "registered-reader");

        // On a machine that is busy enough the follower itself may be silent for too long, and learns so; nothing else may cost it a
        // record. (No process dies here within a claim, so that the bound for those is out of the way of a publisher that does not get its
        // turn.)
        Assert.True(
            follower.Missed == follower.Skipped,
            $"{follower.Missed} missed, {follower.Skipped} skipped, {follower.Abandoned} abandoned, {follower.Corrupt} corrupt "
            + $"(seed {_processes.Seed})");
    }

    private SharedEventRing Create(EventRingOptions options) =>
        SharedEventRing.Create(_processes.RingPath, options with { Policy = EventRingPolicy.WaitForSlowest });

    private static bool Publish(WaitingProducer producer) =>
        producer.TryPublish(Follower.OwnType, KilledProcesses.OwnRecord) == WaitingStatus.Published;

    private sealed class FollowedReader(RegisteredReader reader) : IFollowedReader
    {
        public long Cursor => reader.Cursor;

        public long Lag => reader.Lag;

        public long Missed => reader.Missed;

        public RingReadStatus TryReadBatch(RingBatch batch, out RingGap gap) => reader.TryReadBatch(batch, out gap);

        public void Dispose() => reader.Dispose();
    }
}
