using System.Diagnostics.Metrics;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Live;

public sealed class LiveFeedTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("tunnel2-feed-").FullName;
    private readonly Meter _meter = new(HubMetrics.MeterName);

    [Fact]
    public async Task What_throws_on_its_thread_is_counted_and_the_feed_continues()
    {
        var faults = new ContainedFaults();
        using var ring = SharedEventRing.Create(Path.Combine(_directory, "ring"), new EventRingOptions { Capacity = 1024 });
        using var hub = new Hub(new HubLimits(), _meter, TimeProvider.System);
        var sessions = new FailingDirectory(failures: 2);
        using var feed = new LiveFeed(
            ring, hub, new RequestPublisher(ring, TimeProvider.System), sessions, TimeProvider.System, faults, NullLogger.Instance,
            partitions: 1);
        using var published = await HubRecorder.StartAsync(hub);
        feed.Start();

        // A second goes by after each fault, by design.
        await sessions.Looks.WaitForAsync(3);
        Assert.Equal(2, faults.Count);
        var channel = hub.GetChannel("session.web.status");
        await published.WaitForAsync("session.web.status", "\"online\":true");
        await sessions.Looks.WaitForAsync(4);
        Assert.Equal((2, 1), (faults.Count, channel.SequenceUnsynchronized));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void It_can_be_disposed_of_twice_also_when_it_was_never_started(bool isStarted)
    {
        using var ring = SharedEventRing.Create(Path.Combine(_directory, "ring"), new EventRingOptions { Capacity = 1024 });
        using var hub = new Hub(new HubLimits(), _meter, TimeProvider.System);
        var feed = new LiveFeed(
            ring, hub, new RequestPublisher(ring, TimeProvider.System), new FailingDirectory(failures: 0), TimeProvider.System,
            new ContainedFaults(), NullLogger.Instance, partitions: 1);
        if (isStarted)
        {
            feed.Start();
        }

        feed.Dispose();
        feed.Dispose();
    }

    public void Dispose()
    {
        _meter.Dispose();
        Directory.Delete(_directory, recursive: true);
    }

    /// <summary>A directory with one session, which cannot be listed for a while.</summary>
    private sealed class FailingDirectory(int failures) : ISessionDirectory
    {
        private readonly EntrySession _session = Sample.Session("web");

        public event Action<EntrySession>? Registered
        {
            add { }
            remove { }
        }

        public AsyncCounter Looks { get; } = new("looks");

        public int Count => 1;

        public IReadOnlyList<EntrySession> Snapshot() => Looks.Increment() > failures ? [_session] : throw new InvalidTimeZoneException();

        public ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public ValueTask MarkLeavingAsync(string name, long epoch, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public ValueTask UnregisterAsync(string name, long epoch, bool isKept, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public void ReportHealth(EntrySession session) => throw new NotSupportedException();

        public NameState Find(ReadOnlySpan<char> name, out EntrySession? session) => throw new NotSupportedException();

        public NameAbsence GetAbsence(ReadOnlySpan<char> name) => throw new NotSupportedException();
    }
}
