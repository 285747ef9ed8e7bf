using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Programs.Tests.EventRing;

public sealed class KilledProcessTests : IDisposable
{
    private readonly KilledProcesses _processes = new();

    public void Dispose() => _processes.Dispose();

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_producer_killed_at_any_moment_costs_what_it_had_not_committed_and_nothing_else(bool checksum)
    {
        var options = new EventRingOptions { Capacity = 1024, Checksum = checksum, ClaimTimeout = TimeSpan.FromMilliseconds(100) };
        using SharedEventRing ring = SharedEventRing.Create(_processes.RingPath, options);
        using var follower = new Follower(ring);
        EventRingProducer own = ring.CreateProducer();
        await _processes.KillProducersAsync(ring, follower, () => Publish(own), waits: false);
    }

    [Fact]
    public async Task A_reader_killed_at_any_moment_stops_no_other_and_loses_no_record()
    {
        var options = new EventRingOptions { Capacity = 65_536, ClaimTimeout = TimeSpan.FromMinutes(1) };
        using SharedEventRing ring = SharedEventRing.Create(_processes.RingPath, options);
        using var follower = new Follower(ring);
        EventRingProducer own = ring.CreateProducer();
        await _processes.KillReadersAsync(ring, follower, () => Publish(own), "reader");
    }

    [Fact]
    public async Task An_owner_killed_at_any_moment_is_followed_by_one_that_continues_with_its_numbers()
    {
        var random = new Random(_processes.Seed);
        long head = 0;
        for (int round = 0; round < KilledProcesses.Rounds; round++)
        {
            var options = new EventRingOptions { Capacity = 1024 };
            SharedEventRing ring = SharedEventRing.OpenOrCreate(_processes.RingPath, options, out EventRingOpenError refused);
            Assert.Equal(round == 0 ? EventRingOpenError.NotFound : EventRingOpenError.None, refused);
            Assert.True(ring.Head >= head, $"round {round}: the numbers went back (seed {_processes.Seed})");
            Assert.True(Publish(ring.CreateProducer()));
            await _processes.KillProducerAsync(random, 5_000);
            head = ring.Head;

            // Not disposed in order, which would close it: as after a crash of this process.
        }
    }

    private static bool Publish(EventRingProducer producer) =>
        producer.TryPublish(Follower.OwnType, KilledProcesses.OwnRecord) == PublishStatus.Published;
}
