using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestBackend;

namespace Tunnel2.FunctionalTests.Http2Backends;

/// <summary>Tunnels to services that speak HTTP/2.</summary>
internal static class Http2Service
{
    /// <summary>The agent's options for a service of HTTP/2 without TLS.</summary>
    public static AgentOptions Prior(AgentOptions options) => options with { Upstream = options.Upstream with { IsHttp2 = true } };

    /// <summary>Runs a test on a tunnel to a service that does what the test says, connection by connection.</summary>
    public static Task RunAsync(
        Func<Http2ServiceConnection, int, Task> serve, Func<TunnelFixture, Task> test, byte[]? settings = null) =>
        TunnelFixture.RunAsync(Http2ServiceConnection.Serving(serve, settings), test, new TunnelSetup { Agent = Prior });

    /// <summary>The same with a visitor that speaks HTTP/2 too.</summary>
    public static Task RunAsync(
        Func<Http2ServiceConnection, int, Task> serve, Func<Http2Visitor, TunnelFixture, Task> test, byte[]? settings = null) =>
        RunAsync(
            serve,
            async tunnel =>
            {
                await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
                await test(visitor, tunnel);
            },
            settings);

    /// <summary>Runs a test on a tunnel to the test backend, which speaks HTTP/2 with or without TLS.</summary>
    public static async Task RunAsync(bool isTls, Func<TunnelFixture, TestBackendServer, Task> test)
    {
        await using var backend = await TestBackendServer.StartAsync(
            new TestBackendOptions { UseTls = isTls, UseHttp2PriorKnowledge = !isTls });
        await FrontVisitor.WithCertificateAsync(setup => TunnelFixture.RunAsync(
            backend.Port,
            tunnel => test(tunnel, backend),
            setup with
            {
                Agent = options => options with
                {
                    BackendProtocol = BackendProtocol.Http2,
                    Upstream = options.Upstream with { IsHttps = isTls },
                },
            }));
    }
}
