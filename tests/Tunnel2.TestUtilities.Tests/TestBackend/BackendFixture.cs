using System.Diagnostics.CodeAnalysis;
using Tunnel2.TestBackend;

namespace Tunnel2.TestUtilities.Tests.TestBackend;

/// <summary>One backend over TCP and one over TLS for a class of tests.</summary>
public sealed class BackendFixture : IAsyncLifetime
{
    public TestBackendServer Plain { get; private set; } = null!;

    public TestBackendServer Tls { get; private set; } = null!;

    [SuppressMessage("Security", "CA5359", Justification = "The certificate was made a moment ago; no program can know it.")]
    public HttpClient Http { get; } = new(new SocketsHttpHandler
    {
        SslOptions =
        {
            RemoteCertificateValidationCallback = static (_, _, _, _) => true,
        },
    });

    public async ValueTask InitializeAsync()
    {
        Plain = await TestBackendServer.StartAsync(new TestBackendOptions());
        Tls = await TestBackendServer.StartAsync(new TestBackendOptions { UseTls = true, Engine = TestBackendEngine.EventLoop });
    }

    public async ValueTask DisposeAsync()
    {
        Http.Dispose();
        await Plain.DisposeAsync();
        await Tls.DisposeAsync();
    }

    public Uri PlainUri(string path) => new(Plain.BaseAddress, path);

    public Uri TlsUri(string path) => new(Tls.BaseAddress, path);
}
