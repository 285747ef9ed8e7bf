using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Mvc.Testing;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Tunnel2.ProxyEntry.Hosting;

namespace Tunnel2.Embed.Tests.Factories;

/// <summary>samples/Embedding in a <c>WebApplicationFactory</c>, as docs/embedding.md shows it.</summary>
public sealed class SampleFactoryTests
{
    [Fact]
    public async Task In_memory_the_app_answers_without_a_tunnel()
    {
        await using var factory = new WebApplicationFactory<Program>();
        using var client = factory.CreateClient();
        Assert.StartsWith("Hello ", await client.GetStringAsync("/"), StringComparison.Ordinal);
        Assert.False(factory.Services.GetRequiredService<Tunnel2Urls>().IsOpen);
    }

    [Fact]
    public async Task With_kestrel_it_has_its_public_url()
    {
        KeyValuePair<string, string?>[] settings =
        [
            new("Public:HttpListen", "127.0.0.1:0"), new("Uplink:Listen", "127.0.0.1:0"), new("Admin:Listen", "127.0.0.1:0"),
            new("Live", "false"),
        ];
        var builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings());
        builder.Services.AddTunnel2ProxyEntry(settings);
        using var server = builder.Build();
        await server.StartAsync(TestContext.Current.CancellationToken);
        var entry = server.Services.GetRequiredService<ProxyEntryServer>();

        await using var factory = new SampleFactory($"tcp://{entry.UplinkEndPoint}");
        factory.UseKestrel();
        factory.StartServer();
        var urls = factory.Services.GetRequiredService<Tunnel2Urls>();
        await urls.WaitAsync(TestContext.Current.CancellationToken);
        using var client = new HttpClient { BaseAddress = new Uri($"http://{entry.HttpEndPoint}") };
        client.DefaultRequestHeaders.Host = "web.localhost";
        Assert.Equal(
            $"Hello 127.0.0.1, this is {urls.PublicUrl}\n",
            await client.GetStringAsync("/", TestContext.Current.CancellationToken));
        await server.StopAsync(TestContext.Current.CancellationToken);
    }

    private sealed class SampleFactory(string server) : WebApplicationFactory<Program>
    {
        protected override void ConfigureWebHost(IWebHostBuilder builder) => builder.UseSetting("Server", server).UseSetting("Name", "web");
    }
}
