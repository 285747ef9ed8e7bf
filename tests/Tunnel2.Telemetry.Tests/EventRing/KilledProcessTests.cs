using System.Buffers.Binary;
using System.Diagnostics;
using System.Globalization;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.EventRing;

/// <summary>
/// Other processes on the same ring, killed at random moments (SIGKILL). <c>TUNNEL2_CRASH_ROUNDS=200</c> for the long run; by default a few
/// rounds, so that the whole takes seconds.
/// </summary>
public sealed class KilledProcessTests : IDisposable
{
    private const int Torn = 3;
    private static readonly int _rounds =
        int.TryParse(Environment.GetEnvironmentVariable("TUNNEL2_CRASH_ROUNDS"), CultureInfo.InvariantCulture, out int rounds) ? rounds : 4;

    private static readonly TimeSpan _start = TimeSpan.FromMinutes(3);
    private static readonly TimeSpan _patience = TimeSpan.FromMinutes(2);
    private readonly string _directory = Directory.CreateTempSubdirectory("tunnel2-killed-").FullName;
    private readonly int _seed = Environment.TickCount;

    private string RingPath => Path.Combine(_directory, "ring");

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    private static ProcessRunner Start(params string[] arguments) => ProcessRunner.Start(
        "dotnet", [Path.Combine(AppContext.BaseDirectory, "tunnel2-ring-peer.dll"), .. arguments]);

    [Theory]
    [InlineData(false, true)]
    [InlineData(false, false)]
    [InlineData(true, true)]
    public async Task A_producer_killed_at_any_moment_costs_what_it_had_not_committed_and_nothing_else(bool waits, bool checksum)
    {
        EventRingPolicy policy = waits ? EventRingPolicy.WaitForSlowest : EventRingPolicy.OverwriteOldest;
        var options = new EventRingOptions { Capacity = 1024, Policy = policy, Checksum = checksum, ClaimTimeout = TimeSpan.FromMilliseconds(100) };
        using SharedEventRing ring = SharedEventRing.Create(RingPath, options);
        using var follower = new Follower(ring, register: waits);
        var random = new Random(_seed);
        EventRingProducer own = ring.CreateProducer();
        for (int round = 0; round < _rounds; round++)
        {
            await using ProcessRunner producer = Start("producer", RingPath, random.Next().ToString(CultureInfo.InvariantCulture));
            await producer.WaitForLineAsync(static line => line == "ready", _start);
            await SpinAsync(random.Next(20_000));
            producer.Kill();
            await producer.WaitForExitAsync(_patience);

            // The ring is usable: what this process publishes now arrives. A whole lap, so that it meets the slot that the dead one left half filled, and
            // takes it over in the next round, as a server that lives on does.
            long wanted = follower.Own + ring.Capacity;
            Assert.True(await PublishAsync(own, ring.Capacity), $"round {round}: no room in the ring (seed {_seed})");
            await follower.UntilAsync(f => waits ? f.Own >= wanted : f.Own > wanted - ring.Capacity, $"round {round} (seed {_seed})");
        }

        await follower.StopAsync();
        Assert.Null(follower.Fault);
        Assert.Equal(ring.Head, follower.Start + follower.Records + follower.Missed);
        Assert.Equal(0, follower.Corrupt);
        Assert.True(waits ? follower.Missed == follower.Abandoned + follower.Skipped : follower.Missed >= follower.Abandoned, $"{follower.Missed} missed, {follower.Abandoned} abandoned, {follower.Skipped} skipped");
    }

    [Theory]
    [InlineData("reader", false)]
    [InlineData("registered-reader", true)]
    public async Task A_reader_killed_at_any_moment_stops_nobody_and_loses_nobody_a_record(string kind, bool waits)
    {
        EventRingPolicy policy = waits ? EventRingPolicy.WaitForSlowest : EventRingPolicy.OverwriteOldest;
        var options = new EventRingOptions { Capacity = 65_536, Policy = policy, StaleAfter = TimeSpan.FromMilliseconds(500), Consumers = 2, ClaimTimeout = TimeSpan.FromMinutes(1) };
        using SharedEventRing ring = SharedEventRing.Create(RingPath, options);
        using var follower = new Follower(ring, register: waits);
        using var stop = new CancellationTokenSource();
        EventRingProducer own = ring.CreateProducer();
        var publishing = Task.Factory.StartNew(
            () =>
            {
                while (!stop.IsCancellationRequested)
                {
                    // Refused under "wait" until the follower has read, or until the dead one has given no sign of life for too long.
                    if (!Publish(own))
                    {
                        Thread.Yield();
                    }
                }
            },
            TestContext.Current.CancellationToken, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        var random = new Random(_seed);
        for (int round = 0; round < _rounds; round++)
        {
            await using ProcessRunner reader = Start(kind, RingPath);
            await reader.WaitForLineAsync(static line => line == "ready", _start);
            await SpinAsync(random.Next(20_000));
            Assert.False(reader.HasExited, $"round {round}: the reader ended by itself, with {(reader.HasExited ? await reader.WaitForExitAsync(_patience) : 0)}; {Torn} is a torn record (seed {_seed})");
            reader.Kill();
            await reader.WaitForExitAsync(_patience);

            // Two laps of the ring: whatever the dead reader held is needed again.
            long wanted = follower.Own + (2 * ring.Capacity);
            await follower.UntilAsync(f => f.Own >= wanted, $"round {round} (seed {_seed})");
        }

        await stop.CancelAsync();
        await publishing;
        await follower.StopAsync();
        Assert.Null(follower.Fault);
        Assert.Equal(ring.Head, follower.Start + follower.Records + follower.Missed);
        if (waits)
        {
            // On a machine that is busy enough the follower itself may be silent for too long, and is told so; nothing else may cost it a record. (Nobody dies
            // here within a claim, so that the bound for those is out of the way of a publisher that does not get its turn.)
            Assert.True(follower.Missed == follower.Skipped, $"{follower.Missed} missed, {follower.Skipped} skipped, {follower.Abandoned} abandoned, {follower.Corrupt} corrupt (seed {_seed})");
        }
    }

    [Fact]
    public async Task An_owner_killed_at_any_moment_is_followed_by_one_that_goes_on_with_its_numbers()
    {
        var random = new Random(_seed);
        long head = 0;
        for (int round = 0; round < _rounds; round++)
        {
            SharedEventRing ring = SharedEventRing.OpenOrCreate(RingPath, new EventRingOptions { Capacity = 1024 }, out EventRingOpenError refused);
            Assert.Equal(round == 0 ? EventRingOpenError.NotFound : EventRingOpenError.None, refused);
            Assert.True(ring.Head >= head, $"round {round}: the numbers went back (seed {_seed})");
            Assert.True(Publish(ring.CreateProducer()));
            await using ProcessRunner producer = Start("producer", RingPath, random.Next().ToString(CultureInfo.InvariantCulture));
            await producer.WaitForLineAsync(static line => line == "ready", _start);
            await SpinAsync(random.Next(5_000));
            producer.Kill();
            await producer.WaitForExitAsync(_patience);
            head = ring.Head;

            // Not disposed in order, which would close it: as after a crash of this process.
        }
    }

    /// <summary>A random moment: no clock is fine enough to be asked for one.</summary>
    private static Task SpinAsync(int microseconds) => Task.Run(() =>
    {
        long start = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(start).TotalMicroseconds < microseconds)
        {
            Thread.Yield();
        }
    });

    private static bool Publish(EventRingProducer producer)
    {
        Span<byte> payload = stackalloc byte[24];
        BinaryPrimitives.WriteInt64LittleEndian(payload, -1);
        BinaryPrimitives.WriteInt32LittleEndian(payload[8..], payload.Length);
        BinaryPrimitives.WriteInt64LittleEndian(payload[16..], -1);
        return producer.TryPublish(Follower.OwnType, payload) == PublishStatus.Published;
    }

    private static Task<bool> PublishAsync(EventRingProducer producer, int count) => Task.Run(() =>
    {
        for (int i = 0; i < count; i++)
        {
            if (!SpinWait.SpinUntil(() => Publish(producer), _patience))
            {
                return false;
            }
        }

        return true;
    });
}
