using System.Diagnostics.Metrics;
using System.Net;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Names;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>A running ProxyEntry on free ports of loopback.</summary>
internal sealed class EntryFixture : IAsyncDisposable
{
    /// <summary>
    /// Where the rings of these servers are. Of the default's name there may be few at a time, and other test runs have some of them.
    /// </summary>
    private static readonly string _rings = MakeRingFolder();
    private static readonly TimeSpan _stopLimit = TimeSpan.FromMinutes(2);
    private static readonly TimeSpan _usualStop = TimeSpan.FromSeconds(5);

    private static int _started;

    private readonly ProxyEntryHost _host;
    private readonly IEngine _engine;
    private readonly MeterListener _meters;
    private readonly AsyncCounter _changes;
    private readonly ManualTimeProvider? _time;

    private EntryFixture(
        ProxyEntryHost host, IEngine engine, LogLines log, IMeterFactory meters, AsyncCounter changes, TimeProvider? time)
    {
        _time = time as ManualTimeProvider;
        _host = host;
        _engine = engine;
        _changes = changes;
        _meters = ListenForCounts(meters, changes);
        Log = log;
    }

    public LogLines Log { get; }

    public ISessionDirectory Directory => _host.Directory;

    /// <summary>Agents that have said that they are about to stop and serve on until then.</summary>
    public AsyncCounter HandOvers => ((WatchedDirectory)_host.Directory).HandOvers;

    /// <summary>Requests that wait for an agent.</summary>
    public int ParkedRequests => _host.ParkedRequests;

    public PrometheusCollector Metrics => _host.Metrics;

    public LivePlane Live => _host.Live;

    /// <summary>What agents are shown now.</summary>
    public ServerCertificate? UplinkCertificate => _host.UplinkCertificate;

    public IPEndPoint Http => _host.HttpEndPoint!;

    public IPEndPoint Https => _host.HttpsEndPoint!;

    public IPEndPoint Uplink => _host.UplinkEndPoint;

    public IPEndPoint Admin => _host.AdminEndPoint;

    /// <summary>One of its parts.</summary>
    public T Part<T>()
        where T : notnull => _host.Services.GetRequiredService<T>();

    /// <summary>Its event loops; none with the portable engine.</summary>
    public IReadOnlyList<EpollLoop> Loops => _engine.Loops;

    /// <summary>Rounds of its event loops so far, or null where it has none.</summary>
    public long? Rounds => _engine.Loops.Count == 0 ? null : _engine.Loops.Sum(static loop => loop.Statistics.Rounds);

    /// <summary>Starts one.</summary>
    /// <param name="time">Its clock.</param>
    /// <param name="settings">Settings as <c>Key=value</c>, relative to their section. <c>Loops=N</c> counts as it does in
    /// production.</param>
    public static Task<EntryFixture> StartAsync(TimeProvider? time = null, params string[] settings) =>
        StartNodeAsync(null, time, settings);

    /// <summary>Starts one that is a node of a cluster.</summary>
    /// <param name="locator">Says where sessions of other nodes are; null: it is no node.</param>
    /// <param name="time">Its clock.</param>
    /// <param name="settings">As for <see cref="StartAsync(TimeProvider?, string[])"/>.</param>
    public static async Task<EntryFixture> StartNodeAsync(ISessionLocator? locator, TimeProvider? time, params string[] settings)
    {
        var values = new Dictionary<string, string?>(StringComparer.OrdinalIgnoreCase)
        {
            ["Tunnel2:Public:HttpListen"] = "127.0.0.1:0",
            ["Tunnel2:Uplink:Listen"] = "127.0.0.1:0",
            ["Tunnel2:Admin:Listen"] = "127.0.0.1:0",

            // 1 MiB: the kernel writes the 16 MiB of the default at each start, and no test reads as many records back.
            ["Tunnel2:Ring:Slots"] = "4096",
            ["Tunnel2:Ring:File"] = Path.Combine(_rings, $"{Interlocked.Increment(ref _started)}.ring"),
        };
        foreach (var setting in settings)
        {
            var pair = setting.Split('=', 2);
            values["Tunnel2:" + pair[0]] = pair[1];
        }

        var loaded = SettingsLoader.Load(new ConfigurationBuilder().AddInMemoryCollection(values).Build());
        Assert.True(loaded.IsValid, SettingsErrorFormatter.Format(loaded.Errors));
        return await StartAsync(loaded.Settings, time, null, values.ContainsKey("Tunnel2:Loops") ? loaded.Settings.Loops : null, locator);
    }

    /// <summary>Starts one whose settings are a file, so that they can change while it runs.</summary>
    public static async Task<EntryFixture> StartAsync(SettingsSource source, TimeProvider? time = null)
    {
        var loaded = SettingsLoader.Load(source.Read());
        Assert.True(loaded.IsValid, SettingsErrorFormatter.Format(loaded.Errors));
        return await StartAsync(loaded.Settings, time, source);
    }

    private static async Task<EntryFixture> StartAsync(
        ProxyEntrySettings settings, TimeProvider? time, SettingsSource? source, int? loops = null, ISessionLocator? locator = null)
    {
        var changes = new AsyncCounter("what ProxyEntry did");
        var log = new LogLines { Written = changes };
        var engine = TestEngine.Create(settings.Engine == EngineMode.Portable, loops);
        IMeterFactory? meters = null;
        var host = await ProxyEntryHost.StartAsync(settings, engine, logging =>
        {
            // Uplinks that come and go write at Debug, after each change: that line is the signal for it.
            logging.SetMinimumLevel(LogLevel.Information).AddFilter("Tunnel2.ProxyEntry.Uplink", LogLevel.Debug).AddProvider(log);
            var directory = new InMemorySessionDirectory(time ?? TimeProvider.System, settings.ParkTimeout, settings.Pool.Members);
            logging.Services.AddSingleton<ISessionDirectory>(services =>
            {
                meters = services.GetRequiredService<IMeterFactory>();
                return new WatchedDirectory(services.GetService<ClusterDirectory>() is { } cluster ? cluster : directory)
                {
                    Changes = changes,
                };
            });
            if (time is not null)
            {
                logging.Services.AddSingleton(time);
            }

            if (locator is not null)
            {
                logging.Services.AddSingleton(locator);
            }
        }, source);
        return new EntryFixture(host, engine, log, meters!, changes, time);
    }

    /// <summary>The one session there is.</summary>
    public EntrySession Session => Assert.Single(Directory.Snapshot());

    /// <summary>
    /// Waits for what follows from the log, from sessions that come, leave or go, from their uplinks, or from what a counter of
    /// ProxyEntry counts at once, such as requests that wait for an agent: the condition is asked again after each of these.
    /// </summary>
    public Task UntilAsync(Func<bool> condition, string description, TimeSpan? timeout = null) =>
        _changes.UntilAsync(condition, description, timeout);

    /// <summary>Waits until this many sessions are registered.</summary>
    public Task WaitForSessionsAsync(int count) => UntilAsync(() => Directory.Count == count, $"{count} sessions are registered");

    /// <summary>Waits until the one session there is has this many uplinks.</summary>
    public Task WaitForUplinksAsync(int count, TimeSpan? timeout = null) => UntilAsync(
        () => Directory.Snapshot() is [var session] && session.Tunnel.Uplinks.Count == count,
        $"the session has {count} uplinks",
        timeout);

    /// <summary>Waits until this many requests are recorded: after their answers, and each as a whole.</summary>
    public async Task WaitForRecordsAsync(int count)
    {
        using var reader = Live.Ring!.CreateReader(new EventRingReaderOptions { From = EventRingReaderOptions.FromOldest });
        var record = new byte[Live.Ring.MaxPayload];
        var left = count;
        await WaitSignal.UntilAsync(
            () =>
            {
                while (left > 0 && reader.TryRead(record, out _, out _) == RingReadStatus.Record)
                {
                    left--;
                }

                return left == 0;
            },
            $"{count} requests are recorded");
    }

    /// <summary>Waits until this many requests wait for an agent.</summary>
    public Task WaitForParkedAsync(int count) => UntilAsync(() => ParkedRequests == count, $"{count} requests wait");

    /// <summary>Waits until the agent of the one session there is has said that it is about to stop.</summary>
    public Task WaitForGoodbyeAsync() => UntilAsync(
        () => Session is var session && (session.IsLeaving || Directory.GetAbsence(session.Name).Kind == AbsenceKind.SaidGoodbye),
        "the agent has said goodbye");

    /// <summary>Waits until nothing is under way any more, and checks that nothing was left behind.</summary>
    public async Task AssertQuietAsync()
    {
        foreach (var session in Directory.Snapshot())
        {
            await WaitSignal.UntilAsync(() => session.Tunnel.OpenStreams == 0, "no stream is open");
            foreach (var uplink in session.Tunnel.Uplinks)
            {
                await WaitSignal.UntilAsync(() => uplink.ReceiveCredit.Held == 0, "all credit is back");
                var credit = uplink.ReceiveCredit;
                Assert.Equal(credit.Size, credit.Granted + credit.Returnable);
            }
        }
    }

    /// <summary>Stops it and checks that no session is left.</summary>
    public async Task StopAsync()
    {
        await InTimeAsync(_host.StopAsync());
        await WaitForSessionsAsync(0);
        Assert.Empty(Directory.Snapshot());
    }

    public async ValueTask DisposeAsync()
    {
        await InTimeAsync(_host.DisposeAsync().AsTask());
        _meters.Dispose();
        _engine.Dispose();
    }

    /// <summary>
    /// Waits for an end. What a test has cut may be about to look once more whether it may go, after some milliseconds of a clock that the
    /// test moves and that is still now: where the end does not come by itself, the clock runs on.
    /// </summary>
    private async Task InTimeAsync(Task ending)
    {
        await ending.WaitAsync(_usualStop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (_time is { } time && !ending.IsCompleted)
        {
            await WaitSignal.UntilAsync(
                () =>
                {
                    time.Advance(TimeSpan.FromMilliseconds(5));
                    return ending.IsCompleted;
                },
                "the server has stopped",
                _stopLimit);
        }

        await ending.WaitAsync(_stopLimit);
    }

    private static string MakeRingFolder()
    {
        RuntimeDirectory.Create();
        var folder = System.IO.Directory.CreateDirectory(Path.Combine(RuntimeDirectory.Path, $"tests-{Guid.NewGuid():N}"));
        AppDomain.CurrentDomain.ProcessExit += (_, _) => folder.Delete(recursive: true);
        return folder.FullName;
    }

    /// <summary>Of this server only: those of other tests run in the same process.</summary>
    private static MeterListener ListenForCounts(IMeterFactory meters, AsyncCounter changes)
    {
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (instrument is Counter<long> or UpDownCounter<long>
                    && instrument.Meter.Name == ProxyEntryMetrics.MeterName
                    && ReferenceEquals(instrument.Meter.Scope, meters))
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        listener.SetMeasurementEventCallback<long>((_, _, _, _) => changes.Increment());
        listener.Start();
        return listener;
    }
}
