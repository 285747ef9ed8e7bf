using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Tunnel2.TestBackend.Hosting;

namespace Tunnel2.TestBackend;

/// <summary>
/// A running test backend. <c>BackendHandler</c> lists its paths. Thread-safe.
/// </summary>
public sealed class TestBackendServer : IAsyncDisposable
{
    private static readonly TimeSpan _stopLimit = TimeSpan.FromSeconds(1);

    private readonly WebApplication _host;
    private readonly IServer _server;
    private readonly BackendApplication _application;

    private TestBackendServer(WebApplication host, BackendApplication application, ListenOptions listen, bool useTls)
    {
        _host = host;
        _server = host.Services.GetRequiredService<IServer>();
        _application = application;
        // Kestrel replaces the end point by the bound one.
        EndPoint = listen.IPEndPoint!;
        BaseAddress = new Uri($"{(useTls ? "https" : "http")}://{EndPoint}/");
    }

    /// <summary>Where it listens, with the real port.</summary>
    public IPEndPoint EndPoint { get; }

    /// <summary>The port it listens on.</summary>
    public int Port => EndPoint.Port;

    /// <summary>Its root as an address.</summary>
    public Uri BaseAddress { get; }

    /// <summary>How many requests have reached the handler.</summary>
    public long RequestsStarted => _application.Started;

    /// <summary>How many requests have ended, well or not.</summary>
    public long RequestsCompleted => _application.Completed;

    /// <summary>Starts a backend; it serves when the task ends.</summary>
    /// <exception cref="IOException">The address is in use.</exception>
    public static async Task<TestBackendServer> StartAsync(TestBackendOptions options, CancellationToken cancellationToken = default)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        ListenOptions? listenOptions = null;
        builder.WebHost.UseKestrelCore().UseKestrelHttpsConfiguration();
        builder.Services.Configure<SocketTransportOptions>(sockets =>
        {
            sockets.UnsafePreferInlineScheduling = options.Engine == TestBackendEngine.EventLoop;
            sockets.Backlog = 4096;
        });
        builder.Services.Configure<KestrelServerOptions>(kestrel =>
        {
            RemoveLimits(kestrel);
            kestrel.Listen(options.Listen, listen =>
            {
                listenOptions = listen;
                ConfigureEndpoint(listen, options);
            });
        });

        var host = builder.Build();
        try
        {
            var application = new BackendApplication(options.TrackRequests);
            // The server alone is started, not the host: no hosting diagnostics, no middleware pipeline.
            await host.Services.GetRequiredService<IServer>().StartAsync(application, cancellationToken);
            return new TestBackendServer(host, application, listenOptions!, options.UseTls);
        }
        catch
        {
            await host.DisposeAsync();
            throw;
        }
    }

    /// <summary>
    /// Waits until <paramref name="count"/> requests for <paramref name="path"/> (without the query) have arrived since the start.
    /// </summary>
    /// <exception cref="TimeoutException">They did not within <paramref name="timeout"/> (default 10 s).</exception>
    public Task WaitForArrivalAsync(
        string path, long count = 1, TimeSpan? timeout = null, CancellationToken cancellationToken = default) =>
        _application.SignalsOf(path).Arrived.WaitForAsync(count, timeout, cancellationToken);

    /// <summary>Waits until <paramref name="count"/> requests for <paramref name="path"/> have ended, well or not.</summary>
    /// <exception cref="TimeoutException">They did not within <paramref name="timeout"/> (default 10 s).</exception>
    public Task WaitForCompletionAsync(
        string path, long count = 1, TimeSpan? timeout = null, CancellationToken cancellationToken = default) =>
        _application.SignalsOf(path).Completed.WaitForAsync(count, timeout, cancellationToken);

    /// <summary>
    /// Waits until the callers of <paramref name="count"/> requests for <paramref name="path"/> have gone away before the end.
    /// </summary>
    /// <exception cref="TimeoutException">They did not within <paramref name="timeout"/> (default 10 s).</exception>
    public Task WaitForAbortAsync(
        string path, long count = 1, TimeSpan? timeout = null, CancellationToken cancellationToken = default) =>
        _application.SignalsOf(path).AbortedByCaller.WaitForAsync(count, timeout, cancellationToken);

    /// <summary>How many requests for <paramref name="path"/> have arrived, ended, and been aborted by their callers.</summary>
    public (long Arrived, long Completed, long AbortedByCaller) CountOf(string path)
    {
        var signals = _application.SignalsOf(path);
        return (signals.Arrived.Value, signals.Completed.Value, signals.AbortedByCaller.Value);
    }

    /// <summary>Stops listening, gives requests under way one second and closes what is left.</summary>
    public async ValueTask DisposeAsync()
    {
        using var limit = new CancellationTokenSource(_stopLimit);
        await _server.StopAsync(limit.Token);
        await _host.DisposeAsync();
    }

    private static void RemoveLimits(KestrelServerOptions kestrel)
    {
        kestrel.AddServerHeader = false;
        kestrel.Limits.MaxRequestBodySize = null;
        kestrel.Limits.MinRequestBodyDataRate = null;
        kestrel.Limits.MinResponseDataRate = null;
        kestrel.Limits.MaxConcurrentConnections = null;
        kestrel.Limits.MaxConcurrentUpgradedConnections = null;
        kestrel.Limits.KeepAliveTimeout = TimeSpan.FromHours(1);
        kestrel.Limits.RequestHeadersTimeout = TimeSpan.FromHours(1);
        kestrel.Limits.MaxRequestLineSize = 256 * 1024;
        kestrel.Limits.MaxRequestHeadersTotalSize = 512 * 1024;
        kestrel.Limits.MaxRequestHeaderCount = 5000;
        kestrel.Limits.Http2.MaxStreamsPerConnection = 10_000;
        kestrel.Limits.Http2.InitialConnectionWindowSize = 16 * 1024 * 1024;
        kestrel.Limits.Http2.InitialStreamWindowSize = 4 * 1024 * 1024;
        // Bytes above 127 in a field pass through unchanged both ways.
        kestrel.RequestHeaderEncodingSelector = static _ => System.Text.Encoding.Latin1;
        kestrel.ResponseHeaderEncodingSelector = static _ => System.Text.Encoding.Latin1;
    }

    private static void ConfigureEndpoint(ListenOptions listen, TestBackendOptions options)
    {
        listen.Protocols = options switch
        {
            { UseTls: true } => HttpProtocols.Http1AndHttp2,
            { UseHttp2PriorKnowledge: true } => HttpProtocols.Http2,
            _ => HttpProtocols.Http1,
        };
        if (options.UseTls)
        {
            listen.UseHttps(options.Certificate ?? SelfMadeCertificate.Create());
        }

        // After TLS, so that it sees plain text.
        listen.Use((ConnectionDelegate next) => connection => RawConnectionTap.RunAsync(connection, next));
    }
}
