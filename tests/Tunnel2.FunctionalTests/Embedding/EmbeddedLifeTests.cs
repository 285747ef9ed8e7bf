using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Tunnel2.Embed;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Embedding;

/// <summary>How the tunnels of a program begin and end with its host.</summary>
[Trait("Engine", "each")]
public sealed class EmbeddedLifeTests : IDisposable
{
    private readonly LogLines _log = new();

    public void Dispose() => _log.Dispose();

    [Fact]
    public async Task A_stop_waits_for_the_answers_under_way()
    {
        var begun = new WaitSignal("the request is in the app");
        var mayEnd = new WaitSignal("the answer may end");
        await EmbeddedTunnel.RunAsync(
            app => app.MapGet("/long", async (HttpContext context) =>
            {
                await context.Response.WriteAsync("begin,");
                await context.Response.Body.FlushAsync();
                begun.Set();
                await mayEnd.WaitAsync();
                await context.Response.WriteAsync("end");
            }),
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/long", EmbeddedTunnel.Host);
                var head = await visitor.ReadHeadAsync();
                await begun.WaitAsync();
                var stop = tunnel.StopAsync();
                await tunnel.Log.WaitForAsync(3105);
                Assert.False(stop.IsCompleted);
                mayEnd.Set();
                Assert.Equal("begin,end", (await visitor.ReadBodyAsync(head)).Text);
                await stop;
                await tunnel.Log.WaitForAsync(3106);
                Assert.False(tunnel.Urls.IsOpen);
                await Assert.ThrowsAnyAsync<OperationCanceledException>(() => tunnel.Urls.WaitAsync());
            });
    }

    [Fact]
    public async Task A_stop_that_has_no_more_time_cuts_what_is_left()
    {
        var begun = new WaitSignal("the request is in the app");
        var aborted = new WaitSignal("the request is aborted");
        await using var entry = await EntryFixture.StartAsync();
        await using var tunnel = await EmbeddedTunnel.StartAsync(
            entry,
            entry.Uplink.Port,
            app => app.MapGet("/never", async (HttpContext context) =>
            {
                using var registration = context.RequestAborted.Register(aborted.Set);
                begun.Set();
                await aborted.WaitAsync();
            }));
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.SendRequestAsync("/never", EmbeddedTunnel.Host);
        await begun.WaitAsync();
        using var timeIsUp = new CancellationTokenSource();
        var stop = tunnel.App.StopAsync(timeIsUp.Token);
        await tunnel.Log.WaitForAsync(3105);
        await timeIsUp.CancelAsync();
        await aborted.WaitAsync();
        await Record.ExceptionAsync(() => stop);
        await entry.WaitForSessionsAsync(0);
    }

    [Fact]
    public async Task A_lost_uplink_is_opened_again_with_the_same_url()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var link = CuttingProxy.Start(entry.Uplink);
        await using var tunnel = await EmbeddedTunnel.StartAsync(entry, link.Port, static app => app.MapGet("/", static () => "x"));
        var url = tunnel.Urls.PublicUrl;
        Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
        link.CutAll(CutMode.Reset);
        await tunnel.Log.WaitForAsync(3100, count: 2);
        Assert.Equal(url, await tunnel.Urls.WaitAsync());
        Assert.Equal((200, "x"), await AnswerAsync(tunnel));
        Assert.Contains(tunnel.Log.All, static line => line.EventId == 3101);
        await tunnel.StopAsync();
    }

    [Fact]
    public async Task An_app_whose_token_is_refused_runs_and_says_why()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("right"));
        var app = EmbeddedTunnel.Build($"tcp://127.0.0.1:{entry.Uplink.Port}", _log, static options => options.Token = "wrong-one");
        await app.StartAsync();
        await _log.WaitForAsync(3103);
        var line = Assert.Single(_log.All, static line => line.EventId == 3103);
        Assert.Contains("Check the option Token", line.Text, StringComparison.Ordinal);
        Assert.DoesNotContain("wrong-one", line.Text, StringComparison.Ordinal);
        Assert.False(app.Services.GetRequiredService<Tunnel2Urls>().IsOpen);
        await app.StopAsync();
        await app.DisposeAsync();
    }

    [Fact]
    public async Task A_refused_tunnel_is_tried_again_after_half_a_minute()
    {
        var time = new ManualTimeProvider();
        await using var entry = await EntryFixture.StartAsync(null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("right"));
        var app = EmbeddedTunnel.Build(
            $"tcp://127.0.0.1:{entry.Uplink.Port}",
            _log,
            static options => options.Token = "wrong",
            builder => builder.Services.AddSingleton<TimeProvider>(time));
        await app.StartAsync();
        await _log.WaitForAsync(3103);
        await time.SetFor(TimeSpan.FromSeconds(30)).WaitForAsync(1);
        time.Advance(TimeSpan.FromSeconds(30));
        await _log.WaitForAsync(3103, count: 2);
        Assert.Equal(
            ["00:00:30", "00:01:00"],
            _log.All.Where(static line => line.EventId == 3103).Select(static line => line.Text.Trim()[^8..]));
        await app.StopAsync();
        await app.DisposeAsync();
    }

    [Fact]
    public async Task A_new_instance_takes_the_name_over_and_the_old_one_lets_it_be()
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("right"), "Agents:a:Names=web");
        await using var older = await EmbeddedTunnel.StartAsync(
            entry, entry.Uplink.Port, static app => app.MapGet("/", static () => "older"), static options => options.Token = "right");
        Assert.Equal((200, "older"), await AnswerAsync(older));
        await using var younger = await EmbeddedTunnel.StartAsync(
            entry, entry.Uplink.Port, static app => app.MapGet("/", static () => "younger"), static options => options.Token = "right");
        await older.Log.WaitForAsync(3104);
        await older.Log.WaitForAsync(3106);
        Assert.False(older.Urls.IsOpen);
        Assert.Equal((200, "younger"), await AnswerAsync(younger));
        await older.StopAsync();
        Assert.Equal((200, "younger"), await AnswerAsync(younger));
        await younger.StopAsync();
    }

    [Fact]
    public async Task A_start_that_requires_the_tunnel_fails_without_it_and_leaves_nothing_behind()
    {
        using var nobody = new RefusedPort();
        var app = EmbeddedTunnel.Build($"tcp://127.0.0.1:{nobody.Port}", _log, static options => options.StartRequiresTunnel = true);
        var exception = await Assert.ThrowsAsync<Tunnel2StartException>(() => app.StartAsync());
        Assert.Contains($"{nobody.Port}", exception.Message, StringComparison.Ordinal);
        await app.DisposeAsync();
    }

    [Fact]
    public async Task A_start_that_requires_the_tunnel_ends_when_it_is_open()
    {
        await using var entry = await EntryFixture.StartAsync();
        var app = EmbeddedTunnel.Build($"tcp://127.0.0.1:{entry.Uplink.Port}", _log, static options => options.StartRequiresTunnel = true);
        await app.StartAsync();
        Assert.True(app.Services.GetRequiredService<Tunnel2Urls>().IsOpen);
        await app.StopAsync();
        await app.DisposeAsync();
        await entry.WaitForSessionsAsync(0);
    }

    [Fact]
    public async Task All_mistakes_of_the_options_are_reported_at_once_and_show_no_secret()
    {
        var app = EmbeddedTunnel.Build("https://user:secret-1@host/path", _log, static options =>
        {
            options.Name = "-no-";
            options.Token = "secret 2";
            options.AllowIp.Add("10.0.0.1/8");
            options.BasicAuth.Add("no-colon");
            options.Uplinks = 17;
            options.ProxiesBeforeServer = -1;
        });
        var exception = await Assert.ThrowsAsync<Tunnel2OptionsException>(() => app.StartAsync());
        await app.DisposeAsync();
        Assert.Equal(
            ["AllowIp", "BasicAuth", "Name", "ProxiesBeforeServer", "Server", "Token", "Uplinks"],
            exception.Failures.Select(static failure => failure[..failure.IndexOf(':', StringComparison.Ordinal)]).Order());
        Assert.DoesNotContain("secret", exception.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain(_log.All, static line => line.EventId is >= 3100 and < 3200);
    }

    [Fact]
    public void A_second_tunnel_of_an_app_is_refused() => Assert.Throws<InvalidOperationException>(
        () => EmbeddedTunnel.Build("localhost", _log, build: static builder => builder.WebHost.UseTunnel2("localhost")));

    [Fact]
    public async Task Without_kestrel_there_is_no_tunnel()
    {
        var app = EmbeddedTunnel.Build(
            "localhost", _log, build: static builder => builder.Services.AddSingleton<IServer>(new ServerOfATest()));
        await app.StartAsync();
        await _log.WaitForAsync(3110);
        await app.StopAsync();
        await app.DisposeAsync();
        _log.AssertNoErrors();
    }

    [Fact]
    public async Task A_generic_host_forwards_to_a_service_and_a_second_tunnel_to_another()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var first = RawTcpServer.Start(Mirror.ServeAsync);
        await using var second = RawTcpServer.StartAnswering("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond");
        var builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings());
        builder.Logging.SetMinimumLevel(LogLevel.Information).AddProvider(_log);
        foreach (var (name, port) in new[] { ("web", first.Port), ("other", second.Port) })
        {
            builder.Services.AddTunnel2Agent(options =>
            {
                options.Server = $"tcp://127.0.0.1:{entry.Uplink.Port}";
                options.Service = $"127.0.0.1:{port}";
                options.Name = name;
            });
        }

        using var host = builder.Build();
        await host.StartAsync();
        var urls = host.Services.GetServices<Tunnel2Urls>().ToArray();
        Assert.Equal(["web.localhost", "other.localhost"], [(await urls[0].WaitAsync()).Host, (await urls[1].WaitAsync()).Host]);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var (head, body) = await visitor.ExchangeAsync("/hosted", "web.localhost");
        Assert.Equal((200, "/hosted"), (head.StatusCode, body.Request().Target));
        (head, body) = await visitor.ExchangeAsync("/", "other.localhost");
        Assert.Equal((200, "second"), (head.StatusCode, body.Text));
        await host.StopAsync();
        await entry.WaitForSessionsAsync(0);
        Assert.Equal(2, _log.All.Count(static line => line.EventId == 3106));
        _log.AssertNoErrors();
    }

    [Fact]
    public async Task An_agent_without_server_and_service_fails_the_start()
    {
        var builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings());
        builder.Services.AddTunnel2Agent(static _ => { });
        using var host = builder.Build();
        var exception = await Assert.ThrowsAsync<Tunnel2OptionsException>(() => host.StartAsync());
        Assert.Equal(
            ["Server: is missing, such as https://tunnel.example.com", "Service: is missing, such as 3000 or http://localhost:3000"],
            exception.Failures);
    }

    private static async Task<(int Status, string Text)> AnswerAsync(EmbeddedTunnel tunnel)
    {
        var (head, body) = await tunnel.ExchangeAsync("/");
        return (head.StatusCode, body.Text);
    }

    private sealed class ServerOfATest : IServer
    {
        public IFeatureCollection Features { get; } = new FeatureCollection();

        public Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
            where TContext : notnull => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public void Dispose()
        {
        }
    }
}
