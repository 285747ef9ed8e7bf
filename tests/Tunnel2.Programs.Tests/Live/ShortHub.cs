using System.Globalization;
using System.Net;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Live;

/// <summary>
/// A server that is short of processors while the test says so, and a link to its admin listener that the test holds up: so its guard finds
/// the one subscriber on the link slow, and pauses it.
/// </summary>
internal sealed class ShortHub : IAsyncDisposable
{
    /// <summary>Frames that wait for a subscriber that is slow beyond doubt; fewer than its queue takes.</summary>
    private const long ManyFrames = 128;

    // The server's own readings hardly count, so the guard sees what the test reports.
    private static readonly string[] _settings =
        ["Hub:Smoothing=0.01", "Hub:CpuReject=0.9", "Hub:CpuAccept=0.1", "Hub:MemoryReject=1", "Hub:MemoryAccept=0.99"];

    /// <summary>A window of ten seconds, which nothing shows, with enough bytes that a few fill the kernel's buffers.</summary>
    private static readonly byte[] _filler = Encoding.ASCII.GetBytes(
        """{"startUs":0,"seconds":10,"requests":0,"errors":0,"bytesIn":0,"bytesOut":0,"p50Us":0,"p95Us":0,"p99Us":0,"sessions":0,"""
            + "\"missed\":0,\"dropped\":0,\"filler\":\"" + new string('x', 48 * 1024) + "\"}");

    private readonly CuttingProxy _link;

    private ShortHub(EntryFixture entry) => (Entry, _link) = (entry, CuttingProxy.Start(entry.Admin));

    public EntryFixture Entry { get; }

    /// <summary>The admin listener, on the link.</summary>
    public IPEndPoint EndPoint => _link.EndPoint;

    public static async Task<ShortHub> StartAsync() => new(await EntryFixture.StartAsync(null, _settings));

    /// <summary>Publishes a request of session <c>web</c>, as the forwarder would, of any target.</summary>
    public static void Publish(EntryFixture entry, string target, int status = 500, DateTimeOffset? began = null)
    {
        var ring = entry.Live.Ring!;
        var record = new RequestRecord
        {
            SessionName = "web"u8,
            Target = Encoding.Latin1.GetBytes(target),
            StartedUnixMicroseconds = (began ?? DateTimeOffset.UtcNow).ToUnixTimeMilliseconds() * 1000,
            Status = (ushort)status,
        };
        var payload = new byte[ring.MaxPayload];
        var length = RequestRecordCodec.Encode(payload, record);
        Assert.Equal(PublishStatus.Published, ring.CreateProducer().TryPublish((ushort)RecordType.Request, payload.AsSpan(0, length)));
    }

    /// <summary>Publishes requests one after another, each when the hub has published the one before.</summary>
    public async Task PublishEachAsync(string channel, params string[] targets)
    {
        foreach (var target in targets)
        {
            Publish(Entry, target);
            var expected = Encoding.ASCII.GetBytes(target);
            await WaitSignal.UntilAsync(
                () => Entry.Live.Hub!.GetChannel(channel).SnapshotFrame().AsSpan().IndexOf(expected) >= 0, $"{target} is on {channel}");
        }
    }

    /// <summary>Becomes short, and waits until the one subscriber is paused. It gets all that waits for it and the notice.</summary>
    public async Task PauseAsync()
    {
        var hub = Entry.Live.Hub!;
        var channel = hub.GetChannel("node.stats");
        Report(cpu: 1, times: 120);
        _link.Pause(RelayDirection.ToClient);
        await WaitSignal.UntilAsync(
            () =>
            {
                // The kernel's buffers take some first.
                for (var waiting = Assert.Single(hub.Clients()).Backlog; waiting < ManyFrames; waiting++)
                {
                    hub.Publish(channel, "10s", _filler);
                }

                return Entry.Live.SlowSubscribers!.Count == 1;
            },
            "the subscriber is paused",
            Limits.Work);
        _link.Resume(RelayDirection.ToClient);
    }

    /// <summary>Is short no longer.</summary>
    public async Task ContinueAsync()
    {
        Report(cpu: 0, times: 500);
        await WaitSignal.UntilAsync(() => Entry.Live.SlowSubscribers!.Count == 0, "the subscriber continues", Limits.Work);
    }

    public async ValueTask DisposeAsync()
    {
        await _link.DisposeAsync();
        await Entry.DisposeAsync();
    }

    /// <summary>Targets with numbers.</summary>
    public static string[] Targets(string prefix, int count) =>
        [.. Enumerable.Range(1, count).Select(i => string.Create(CultureInfo.InvariantCulture, $"{prefix}{i}"))];

    private void Report(double cpu, int times)
    {
        for (var i = 0; i < times; i++)
        {
            Entry.Live.Guard!.Observe(new ContainerReading(0, cpu));
        }
    }
}
