using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Hosting;

/// <summary>The server as a service of another program's generic host.</summary>
public sealed class HostedServerTests : IDisposable
{
    private static readonly KeyValuePair<string, string?>[] _anyPorts =
    [
        new(SettingKeys.HttpListen, "127.0.0.1:0"),
        new(SettingKeys.UplinkListen, "127.0.0.1:0"),
        new(SettingKeys.AdminListen, "127.0.0.1:0"),
    ];

    private readonly LogLines _log = new();

    public void Dispose() => _log.Dispose();

    [Fact]
    public async Task It_serves_while_the_host_runs_and_logs_to_the_hosts_loggers()
    {
        using var host = Build(_anyPorts);
        var server = host.Services.GetRequiredService<ProxyEntryServer>();
        Assert.Null(server.UplinkEndPoint);
        await host.StartAsync();
        Assert.Null(server.HttpsEndPoint);
        await using (var admin = await RawHttpClient.ConnectAsync(server.AdminEndPoint!))
        {
            Assert.Equal(200, (await admin.ExchangeAsync("/health/ready", "127.0.0.1")).Head.StatusCode);
        }

        await AssertServesAsync(server);
        await host.StopAsync();
        Assert.True(FreePort.IsFree(server.UplinkEndPoint!.Port));
        Assert.Equal([2203, 2204, 2205], _log.All.Select(static line => line.EventId).Where(static id => id is >= 2203 and <= 2205));
        Assert.Contains(_log.All, static line => line.Category == "Tunnel2.ProxyEntry.Draining.EntryDrain");
        _log.AssertNoErrors();
    }

    [Fact]
    public async Task Its_readiness_is_a_health_check_of_the_host()
    {
        var builder = CreateBuilder();
        builder.Services.AddTunnel2ProxyEntry(_anyPorts).AddHealthChecks().AddTunnel2ProxyEntry(tags: ["ready"]);
        using var host = builder.Build();
        var checks = host.Services.GetRequiredService<HealthCheckService>();
        Assert.Equal((HealthStatus.Unhealthy, "not started"), await CheckAsync());
        await host.StartAsync();
        Assert.Equal((HealthStatus.Healthy, "ready"), await CheckAsync());
        await host.StopAsync();
        Assert.Equal((HealthStatus.Unhealthy, "draining"), await CheckAsync());

        async Task<(HealthStatus, string?)> CheckAsync()
        {
            var report = await checks.CheckHealthAsync(static one => one.Tags.Contains("ready"));
            return (report.Status, report.Entries["tunnel2"].Description);
        }
    }

    [Fact]
    public async Task Two_of_one_host_have_ports_of_their_own_and_go_by_the_host()
    {
        var builder = CreateBuilder();
        builder.Services.AddTunnel2ProxyEntry(_anyPorts).AddTunnel2ProxyEntry([.. _anyPorts, new("EntryId", "e2")]);
        using var host = builder.Build();
        await host.StartAsync();
        var servers = host.Services.GetServices<ProxyEntryServer>().ToArray();
        Assert.Equal(2, servers.Length);
        Assert.NotEqual(servers[0].HttpEndPoint, servers[1].HttpEndPoint);
        foreach (var server in servers)
        {
            await AssertServesAsync(server);
        }

        await host.StopAsync();
        Assert.All(servers, static server => Assert.True(FreePort.IsFree(server.UplinkEndPoint!.Port)));
        _log.AssertNoErrors();
    }

    [Fact]
    public async Task One_that_ends_leaves_another_of_the_process_as_it_was()
    {
        using var lasting = Build(_anyPorts);
        await lasting.StartAsync();
        var server = lasting.Services.GetRequiredService<ProxyEntryServer>();
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(server.UplinkEndPoint!.Port, backend.Port));
        await using var visitor = await RawHttpClient.ConnectAsync(server.HttpEndPoint!);
        Assert.Equal(200, (await visitor.ExchangeAsync("/before", TunnelFixture.Host)).Head.StatusCode);

        using (var passing = Build(_anyPorts))
        {
            await passing.StartAsync();
            await AssertServesAsync(passing.Services.GetRequiredService<ProxyEntryServer>());
            await passing.StopAsync();
        }

        // On the same connection, by the same session.
        Assert.Equal(200, (await visitor.ExchangeAsync("/after", TunnelFixture.Host)).Head.StatusCode);
        Assert.Equal(1, agent.Events.ReadyCount.Value);
        await lasting.StopAsync();
        _log.AssertNoErrors();
    }

    [Fact]
    public async Task The_hosts_time_for_its_end_ends_the_grace_of_requests()
    {
        using var host = Build([.. _anyPorts, new("Timeouts:Drain", "1h")]);
        await host.StartAsync();
        var server = host.Services.GetRequiredService<ProxyEntryServer>();
        var arrived = new AsyncCounter("requests at the backend");
        await using var backend = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            arrived.Increment();
            await connection.WaitForEndAsync();
        });
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(server.UplinkEndPoint!.Port, backend.Port));
        await using var visitor = await RawHttpClient.ConnectAsync(server.HttpEndPoint!);
        await visitor.SendRequestAsync("/never", TunnelFixture.Host);
        await arrived.WaitForAsync(1);

        using var timeIsUp = new CancellationTokenSource();
        var stop = host.StopAsync(timeIsUp.Token);
        await _log.WaitForAsync(2204);
        Assert.False(stop.IsCompleted);
        await timeIsUp.CancelAsync();
        await stop;
        await visitor.WaitForEndAsync();
        Assert.Single(_log.All, static line => line.EventId == 2209);
        Assert.Single(_log.All, static line => line.EventId == 2205);
    }

    [Fact]
    public async Task All_mistakes_are_reported_at_once_before_any_service_starts()
    {
        KeyValuePair<string, string?>[] wrong =
        [
            .. _anyPorts, new("Domian", "x"), new("Timeouts:Park", "soon"), new("Loops", "many"),
            new(SettingKeys.ListenersFrom, "/run/x"),
        ];
        var builder = CreateBuilder();
        var other = new Recorder();
        builder.Services.AddSingleton<IHostedService>(other);
        builder.Services.AddTunnel2ProxyEntry(wrong);
        using var host = builder.Build();

        var exception = await Assert.ThrowsAsync<ProxyEntrySettingsException>(() => host.StartAsync());
        Assert.False(other.HasStarted);
        Assert.Equal(4, exception.Failures.Count());
        Assert.StartsWith("tunnel2-entry cannot start: 4 settings are wrong.\n", exception.Message, StringComparison.Ordinal);
        Assert.Equal(
            exception.Failures.Select(static failure => "  " + failure), exception.Message.TrimEnd('\n').Split('\n').Skip(1));
        Assert.IsType<OptionsValidationException>(exception, exactMatch: false);
        Assert.EndsWith(
            SettingsErrorFormatter.Format(SettingsLoader.Load(wrong[..^1]).Errors).Split(".\n", 2)[1],
            exception.Message,
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task Links_between_nodes_lead_nowhere_without_the_database_that_knows_the_nodes()
    {
        using var folder = new TemporaryFolder();
        var authority = new ClusterAuthority(folder["cluster"], DateTimeOffset.UtcNow);
        authority.Create();
        authority.Issue("e1", TimeSpan.FromDays(1));
        using var host = Build([.. _anyPorts, new("StateFolder", folder["."]), new(SettingKeys.ClusterListen, "127.0.0.1:0")]);
        var exception = await Assert.ThrowsAsync<ProxyEntrySettingsException>(() => host.StartAsync());
        Assert.Equal(
            "Tunnel2:Cluster:Listen: has no effect without Tunnel2:Cluster:Database: no other node would know of this one.",
            Assert.Single(exception.Failures));
    }

    [Fact]
    public async Task An_address_that_is_taken_fails_the_start_and_nothing_is_left_behind()
    {
        await using var taken = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        var free = FreePort.Next();
        using (var host = Build(
            [.. _anyPorts, new(SettingKeys.HttpListen, $"127.0.0.1:{free}"), new(SettingKeys.UplinkListen, taken.EndPoint.ToString())]))
        {
            var exception = await Assert.ThrowsAnyAsync<IOException>(() => host.StartAsync());
            Assert.Contains("(Tunnel2:Uplink:Listen)", exception.Message, StringComparison.Ordinal);
        }

        Assert.True(FreePort.IsFree(free));
    }

    [Fact]
    public async Task A_host_that_is_disposed_of_without_a_stop_takes_the_server_with_it()
    {
        ProxyEntryServer server;
        using (var host = Build([.. _anyPorts, new("Timeouts:Drain", "1h"), new("Timeouts:DrainDelay", "10m")]))
        {
            await host.StartAsync();
            server = host.Services.GetRequiredService<ProxyEntryServer>();
        }

        Assert.True(FreePort.IsFree(server.HttpEndPoint!.Port));
        Assert.True(FreePort.IsFree(server.UplinkEndPoint!.Port));
    }

    [Fact]
    public async Task Agents_follow_the_hosts_configuration_by_the_hosts_clock()
    {
        var time = new ManualTimeProvider();
        var builder = CreateBuilder();
        builder.Configuration["Tunnel2:Agents:web:TokenHash"] = EntryTokens.HashSetting("t1");
        builder.Configuration["Tunnel2:Agents:web:Names"] = "web";
        builder.Services.AddSingleton<TimeProvider>(time).AddTunnel2ProxyEntry(_anyPorts);
        using var host = builder.Build();
        await host.StartAsync();

        builder.Configuration["Tunnel2:Agents:more:TokenHash"] = EntryTokens.HashSetting("t2");
        builder.Configuration["Tunnel2:Domain"] = "later.example";
        ((Microsoft.Extensions.Configuration.IConfigurationRoot)builder.Configuration).Reload();
        time.Advance(ReloadLoop.Period);
        await _log.WaitForAsync(2255);
        Assert.Contains("2 agents", Assert.Single(_log.All, static line => line.EventId == 2255).Text, StringComparison.Ordinal);
        Assert.Contains(
            _log.All, static line => line.Text.Contains("Tunnel2:Domain", StringComparison.Ordinal) && line.Level == LogLevel.Warning);
        await host.StopAsync();
    }

    private static async Task AssertServesAsync(ProxyEntryServer server)
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(server.UplinkEndPoint!.Port, backend.Port));
        await using var visitor = await RawHttpClient.ConnectAsync(server.HttpEndPoint!);
        var (head, body) = await visitor.ExchangeAsync("/hosted", TunnelFixture.Host);
        Assert.Equal((200, "/hosted"), (head.StatusCode, body.Request().Target));
    }

    private HostApplicationBuilder CreateBuilder()
    {
        var builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings());
        builder.Logging.SetMinimumLevel(LogLevel.Information).AddFilter("Microsoft", LogLevel.None).AddProvider(_log);
        return builder;
    }

    private IHost Build(KeyValuePair<string, string?>[] settings)
    {
        var builder = CreateBuilder();
        builder.Services.AddTunnel2ProxyEntry(settings);
        return builder.Build();
    }

    private sealed class Recorder : IHostedService
    {
        public bool HasStarted { get; private set; }

        public Task StartAsync(CancellationToken cancellationToken)
        {
            HasStarted = true;
            return Task.CompletedTask;
        }

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
    }
}
