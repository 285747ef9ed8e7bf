using System.Net.Sockets;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Tunnel2.Embed;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Embedding;

/// <summary>A server and an app with a tunnel of its own in this process. After a test that passed nothing may be left behind.</summary>
internal sealed class EmbeddedTunnel : IAsyncDisposable
{
    public const string Host = "web.localhost";

    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(60);

    private readonly CancellationTokenSource _outOfPatience = new(_patience);
    private bool _isStopped;

    private EmbeddedTunnel(EntryFixture entry, WebApplication app, LogLines log)
    {
        Entry = entry;
        App = app;
        Log = log;
    }

    public EntryFixture Entry { get; }

    public WebApplication App { get; }

    /// <summary>What the app logs.</summary>
    public LogLines Log { get; }

    public Tunnel2Urls Urls => App.Services.GetRequiredService<Tunnel2Urls>();

    public ICollection<string> Addresses =>
        App.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses;

    /// <summary>Runs a test on an app whose tunnel is open.</summary>
    public static async Task RunAsync(
        Action<WebApplication> map,
        Func<EmbeddedTunnel, Task> test,
        Action<Tunnel2EmbedOptions>? configure = null,
        Action<WebApplicationBuilder>? build = null,
        string[]? settings = null)
    {
        await using var entry = await EntryFixture.StartAsync(null, settings ?? []);
        await using var tunnel = await StartAsync(entry, entry.Uplink.Port, map, configure, build);
        await test(tunnel);
        await tunnel.StopAsync();
        await entry.AssertQuietAsync();
        tunnel.Log.AssertNoErrors();
        await entry.StopAsync();
        entry.Log.AssertNoErrors();
        UnobservedExceptions.AssertNone();
    }

    /// <summary>Starts an app, and waits until its tunnel is open.</summary>
    public static async Task<EmbeddedTunnel> StartAsync(
        EntryFixture entry,
        int uplinkPort,
        Action<WebApplication> map,
        Action<Tunnel2EmbedOptions>? configure = null,
        Action<WebApplicationBuilder>? build = null)
    {
        var log = new LogLines();
        var app = Build($"tcp://127.0.0.1:{uplinkPort}", log, configure, build);
        map(app);
        await app.StartAsync();
        var tunnel = new EmbeddedTunnel(entry, app, log);
        await tunnel.Urls.WaitAsync(tunnel._outOfPatience.Token);
        return tunnel;
    }

    /// <summary>Builds an app that has not started.</summary>
    public static WebApplication Build(
        string server, LogLines log, Action<Tunnel2EmbedOptions>? configure = null, Action<WebApplicationBuilder>? build = null)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders().SetMinimumLevel(LogLevel.Information).AddProvider(log);
        builder.Services.AddSingleton(static services => new AgentProcess(
            services.GetRequiredService<ILoggerFactory>(), TimeProvider.System, static () => TestEngine.Create()));
        builder.WebHost.UseTunnel2(server, options =>
        {
            options.Name = "web";
            configure?.Invoke(options);
        });
        build?.Invoke(builder);
        return builder.Build();
    }

    public async Task<RawHttpClient> ConnectAsync(int receiveBufferSize = 0)
    {
        var visitor = await RawHttpClient.ConnectAsync(Entry.Http, receiveBufferSize);
        _outOfPatience.Token.UnsafeRegister(static socket => ((Socket)socket!).Dispose(), visitor.Socket);
        return visitor;
    }

    public async Task<(RawHttpHead Head, RawHttpBody Body)> ExchangeAsync(string target, string method = "GET", string fields = "")
    {
        await using var visitor = await ConnectAsync();
        return await visitor.ExchangeAsync(target, Host, method, fields);
    }

    public async Task StopAsync()
    {
        _isStopped = true;
        await App.StopAsync(_outOfPatience.Token);
    }

    public async ValueTask DisposeAsync()
    {
        if (!_isStopped)
        {
            // The test failed: nothing under way is waited for.
            using var hurry = new CancellationTokenSource();
            await hurry.CancelAsync();
            await ((Task)App.StopAsync(hurry.Token)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        await App.DisposeAsync();
        _outOfPatience.Dispose();
    }
}
