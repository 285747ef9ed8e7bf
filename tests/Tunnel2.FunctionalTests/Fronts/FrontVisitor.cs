using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>A visitor by one version of HTTP.</summary>
internal sealed class FrontVisitor : IDisposable
{
    private FrontVisitor(HttpClient client, Version version)
    {
        Client = client;
        Version = version;
    }

    /// <summary>How the visitor comes.</summary>
    public static string[] Kinds { get; } = ["HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2 over TLS", "HTTP/2 by preface"];

    public HttpClient Client { get; }

    public Version Version { get; }

    /// <summary>The connection that was opened last.</summary>
    public Socket Connection { get; private set; } = null!;

    /// <summary>Runs a test on a tunnel to the test backend.</summary>
    public static Task RunAsync(string kind, Func<FrontVisitor, Task> test) =>
        WithCertificateAsync(setup => TunnelFixture.RunAsync(tunnel => VisitAsync(kind, tunnel, test), setup));

    /// <summary>Runs a test on a tunnel to a backend that does what the test says.</summary>
    public static Task RunAsync(string kind, Func<RawConnection, Task> onConnection, Func<FrontVisitor, Task> test) =>
        WithCertificateAsync(setup => TunnelFixture.RunAsync(onConnection, tunnel => VisitAsync(kind, tunnel, test), setup));

    /// <summary>The same with changed options of the agent and further settings.</summary>
    public static Task RunAsync(
        string kind,
        Func<AgentOptions, AgentOptions> agent,
        string[] settings,
        Func<RawConnection, Task> onConnection,
        Func<FrontVisitor, Task> test) =>
        WithCertificateAsync(setup => TunnelFixture.RunAsync(
            onConnection,
            tunnel => VisitAsync(kind, tunnel, test),
            setup with { Agent = agent, Settings = [.. setup.Settings, .. settings] }));

    /// <summary>Runs a test on a tunnel whose ProxyEntry serves HTTPS too, with further settings.</summary>
    public static Task RunRawAsync(string[] settings, Func<RawConnection, Task> onConnection, Func<TunnelFixture, Task> test) =>
        WithCertificateAsync(
            setup => TunnelFixture.RunAsync(onConnection, test, setup with { Settings = [.. setup.Settings, .. settings] }));

    /// <summary>Connects byte for byte, over TLS where the kind says so.</summary>
    public static Task<RawHttpClient> ConnectRawAsync(string kind, TunnelFixture tunnel) =>
        IsTls(kind) ? RawHttpClient.ConnectTlsAsync(tunnel.Entry.Https, TunnelFixture.Host) : RawHttpClient.ConnectAsync(tunnel.Entry.Http);

    public void Dispose() => Client.Dispose();

    [SuppressMessage("Security", "CA5359", Justification = "The certificate is made at the test's start; no program can know it.")]
    private static async Task VisitAsync(string kind, TunnelFixture tunnel, Func<FrontVisitor, Task> test)
    {
        var isTls = IsTls(kind);
        FrontVisitor? self = null;
        var endPoint = isTls ? tunnel.Entry.Https : tunnel.Entry.Http;
        var client = new HttpClient(new SocketsHttpHandler
        {
            UseProxy = false,
            UseCookies = false,
            AllowAutoRedirect = false,
            MaxResponseHeadersLength = 128,
            SslOptions = new SslClientAuthenticationOptions
            {
                RemoteCertificateValidationCallback = static (_, _, _, _) => true,
            },
            ConnectCallback = async (_, cancellationToken) =>
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await socket.ConnectAsync(endPoint, cancellationToken);
                self!.Connection = socket;
                return new NetworkStream(socket, ownsSocket: true);
            },
        })
        {
            BaseAddress = new Uri($"{(isTls ? "https" : "http")}://{TunnelFixture.Host}:{endPoint.Port}/"),
            DefaultRequestVersion = kind.Contains("HTTP/2", StringComparison.Ordinal) ? HttpVersion.Version20 : HttpVersion.Version11,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Timeout = TimeSpan.FromSeconds(20),
        };
        using var visitor = self = new FrontVisitor(client, client.DefaultRequestVersion);
        await test(visitor);
    }

    private static bool IsTls(string kind) => kind.EndsWith("TLS", StringComparison.Ordinal);

    /// <summary>Runs with the settings of both public listeners and a certificate made for them.</summary>
    public static async Task WithCertificateAsync(Func<TunnelSetup, Task> run)
    {
        using var certificate = TestCertificate.Create();
        await run(new TunnelSetup { Settings = ["Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}"] });
    }
}
