using System.Net;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>A running ProxyEntry on free ports of loopback.</summary>
internal sealed class EntryFixture : IAsyncDisposable
{
    private readonly ProxyEntryHost _host;
    private readonly IEngine _engine;

    private EntryFixture(ProxyEntryHost host, IEngine engine, LogLines log)
    {
        _host = host;
        _engine = engine;
        Log = log;
    }

    public LogLines Log { get; }

    public ISessionDirectory Directory => _host.Directory;

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

    /// <summary>Its event loops; none with the portable engine.</summary>
    public IReadOnlyList<EpollLoop> Loops => _engine.Loops;

    /// <summary>Rounds of its event loops so far, or null where it has none.</summary>
    public long? Rounds => _engine.Loops.Count == 0 ? null : _engine.Loops.Sum(static loop => loop.Statistics.Rounds);

    /// <summary>Starts one.</summary>
    /// <param name="time">Its clock.</param>
    /// <param name="settings">Settings as <c>Key=value</c>, relative to their section. <c>Loops=N</c> counts as it does in
    /// production.</param>
    public static async Task<EntryFixture> StartAsync(TimeProvider? time = null, params string[] settings)
    {
        var values = new Dictionary<string, string?>(StringComparer.OrdinalIgnoreCase)
        {
            ["Tunnel2:Public:HttpListen"] = "127.0.0.1:0",
            ["Tunnel2:Uplink:Listen"] = "127.0.0.1:0",
            ["Tunnel2:Admin:Listen"] = "127.0.0.1:0",
        };
        foreach (var setting in settings)
        {
            var pair = setting.Split('=', 2);
            values["Tunnel2:" + pair[0]] = pair[1];
        }

        var loaded = SettingsLoader.Load(new ConfigurationBuilder().AddInMemoryCollection(values).Build());
        Assert.True(loaded.IsValid, SettingsErrorFormatter.Format(loaded.Errors));
        return await StartAsync(loaded.Settings, time, null, values.ContainsKey("Tunnel2:Loops") ? loaded.Settings.Loops : null);
    }

    /// <summary>Starts one whose settings are a file, so that they can change while it runs.</summary>
    public static async Task<EntryFixture> StartAsync(SettingsSource source, TimeProvider? time = null)
    {
        var loaded = SettingsLoader.Load(source.Read());
        Assert.True(loaded.IsValid, SettingsErrorFormatter.Format(loaded.Errors));
        return await StartAsync(loaded.Settings, time, source);
    }

    private static async Task<EntryFixture> StartAsync(
        ProxyEntrySettings settings, TimeProvider? time, SettingsSource? source, int? loops = null)
    {
        var log = new LogLines();
        var engine = TestEngine.Create(settings.Engine == EngineMode.Portable, loops);
        var host = await ProxyEntryHost.StartAsync(settings, engine, logging =>
        {
            logging.SetMinimumLevel(LogLevel.Information).AddProvider(log);
            if (time is not null)
            {
                logging.Services.AddSingleton(time);
            }
        }, source);
        return new EntryFixture(host, engine, log);
    }

    /// <summary>The one session there is.</summary>
    public EntrySession Session => Assert.Single(Directory.Snapshot());

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
        await _host.StopAsync();
        await WaitSignal.UntilAsync(() => Directory.Count == 0, "the directory is empty");
        Assert.Empty(Directory.Snapshot());
    }

    public async ValueTask DisposeAsync()
    {
        await _host.DisposeAsync();
        _engine.Dispose();
    }
}
