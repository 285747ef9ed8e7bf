using System.Buffers.Binary;
using System.Diagnostics;
using System.Globalization;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.EventRing;

/// <summary>
/// Other processes on the same ring, killed at random moments (SIGKILL). <c>TUNNEL2_CRASH_ROUNDS=200</c> for the long run; by default a few
/// rounds, so that the whole takes seconds.
/// </summary>
internal sealed class KilledProcesses : IDisposable
{
    private const int Torn = 3;
    private static readonly TimeSpan _start = TimeSpan.FromMinutes(3);
    private static readonly TimeSpan _patience = TimeSpan.FromMinutes(2);
    private readonly string _directory = Directory.CreateTempSubdirectory("tunnel2-killed-").FullName;

    internal static int Rounds { get; } =
        int.TryParse(Environment.GetEnvironmentVariable("TUNNEL2_CRASH_ROUNDS"), CultureInfo.InvariantCulture, out int rounds) ? rounds : 4;

    internal int Seed { get; } = Environment.TickCount;

    internal string RingPath => Path.Combine(_directory, "ring");

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    /// <summary>A record of the test's own process.</summary>
    internal static byte[] OwnRecord { get; } = MakeOwnRecord();

    /// <summary>Lets a process publish until it is killed, and checks that the ring is usable afterwards; again and again.</summary>
    /// <param name="ring">The ring.</param>
    /// <param name="follower">Reads it.</param>
    /// <param name="publish">Publishes <see cref="OwnRecord"/>; false when there was no room.</param>
    /// <param name="waits">Whether producers wait for the follower, so that it gets every record.</param>
    internal async Task KillProducersAsync(SharedEventRing ring, Follower follower, Func<bool> publish, bool waits)
    {
        var random = new Random(Seed);
        for (int round = 0; round < Rounds; round++)
        {
            await KillProducerAsync(random, 20_000);

            // The ring is usable: what this process publishes now arrives. A whole lap, so that it meets the slot that the dead one left
            // half filled, and takes it over in the next round, as a server that lives on does.
            long wanted = follower.Own + ring.Capacity;
            Assert.True(await PublishAsync(publish, ring.Capacity), $"round {round}: no room in the ring (seed {Seed})");
            await follower.UntilAsync(f => waits ? f.Own >= wanted : f.Own > wanted - ring.Capacity, $"round {round} (seed {Seed})");
        }

        await follower.StopAsync();
        Assert.Null(follower.Fault);
        Assert.Equal(ring.Head, follower.Start + follower.Records + follower.Missed);
        Assert.Equal(0, follower.Corrupt);
        Assert.True(
            waits ? follower.Missed == follower.Abandoned + follower.Skipped : follower.Missed >= follower.Abandoned,
            $"{follower.Missed} missed, {follower.Abandoned} abandoned, {follower.Skipped} skipped");
    }

    /// <summary>Lets a process read until it is killed, while this one publishes; again and again.</summary>
    /// <param name="ring">The ring.</param>
    /// <param name="follower">Reads it.</param>
    /// <param name="publish">Publishes <see cref="OwnRecord"/>; false when there was no room.</param>
    /// <param name="kind">The part that the process plays.</param>
    internal async Task KillReadersAsync(SharedEventRing ring, Follower follower, Func<bool> publish, string kind)
    {
        using var stop = new CancellationTokenSource();
        var publishing = Task.Factory.StartNew(
            () =>
            {
                while (!stop.IsCancellationRequested)
                {
                    // Refused under "wait" until the follower has read, or until the dead one has given no sign of life for too long.
                    if (!publish())
                    {
                        Thread.Yield();
                    }
                }
            },
            TestContext.Current.CancellationToken, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        var random = new Random(Seed);
        for (int round = 0; round < Rounds; round++)
        {
            await using ProcessRunner reader = Start(kind, RingPath);
            await reader.WaitForLineAsync(static line => line == "ready", _start);
            await SpinAsync(random.Next(20_000));
            Assert.False(
                reader.HasExited,
                $"round {round}: the reader ended by itself, with {(reader.HasExited ? await reader.WaitForExitAsync(_patience) : 0)}; "
                + $"{Torn} is a torn record (seed {Seed})");
            reader.Kill();
            await reader.WaitForExitAsync(_patience);

            // Two laps of the ring: all that the dead reader held is needed again.
            long wanted = follower.Own + (2 * ring.Capacity);
            await follower.UntilAsync(f => f.Own >= wanted, $"round {round} (seed {Seed})");
        }

        await stop.CancelAsync();
        await publishing;
        await follower.StopAsync();
        Assert.Null(follower.Fault);
        Assert.Equal(ring.Head, follower.Start + follower.Records + follower.Missed);
    }

    /// <summary>Starts a process that publishes, and kills it within so many microseconds of its first records.</summary>
    internal async Task KillProducerAsync(Random random, int microseconds)
    {
        await using ProcessRunner producer = Start("producer", RingPath, random.Next().ToString(CultureInfo.InvariantCulture));
        await producer.WaitForLineAsync(static line => line == "ready", _start);
        await SpinAsync(random.Next(microseconds));
        producer.Kill();
        await producer.WaitForExitAsync(_patience);
    }

    private static ProcessRunner Start(params string[] arguments) => ProcessRunner.Start(
        "dotnet", [Path.Combine(AppContext.BaseDirectory, "tunnel2-ring-peer.dll"), .. arguments]);

    /// <summary>A random moment: no clock is fine enough to be asked for one.</summary>
    private static Task SpinAsync(int microseconds) => Task.Run(() =>
    {
        long start = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(start).TotalMicroseconds < microseconds)
        {
            Thread.Yield();
        }
    });

    private static byte[] MakeOwnRecord()
    {
        byte[] payload = new byte[24];
        BinaryPrimitives.WriteInt64LittleEndian(payload, -1);
        BinaryPrimitives.WriteInt32LittleEndian(payload.AsSpan(8), payload.Length);
        BinaryPrimitives.WriteInt64LittleEndian(payload.AsSpan(16), -1);
        return payload;
    }

    private static Task<bool> PublishAsync(Func<bool> publish, int count) => Task.Run(() =>
    {
        for (int i = 0; i < count; i++)
        {
            if (!SpinWait.SpinUntil(publish, _patience))
            {
                return false;
            }
        }

        return true;
    });
}
