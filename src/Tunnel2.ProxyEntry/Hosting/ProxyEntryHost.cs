using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Fronts.HttpContexts;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>A running ProxyEntry: its listeners and everything behind them.</summary>
internal sealed class ProxyEntryHost : IAsyncDisposable
{
    private static readonly TimeSpan _stopLimit = TimeSpan.FromSeconds(5);

    private readonly WebApplication _application;
    private readonly IServer _server;
    private readonly UplinkListener _uplinks;
    private readonly ISessionDirectory _directory;
    private readonly Readiness _readiness;
    private readonly ILogger _logger;
    private bool _stopped;

    private ProxyEntryHost(WebApplication application, UplinkListener uplinks, ILogger logger)
    {
        _application = application;
        _server = application.Services.GetRequiredService<IServer>();
        _directory = application.Services.GetRequiredService<ISessionDirectory>();
        _readiness = application.Services.GetRequiredService<Readiness>();
        _uplinks = uplinks;
        _logger = logger;
    }

    /// <summary>Where visitors connect by HTTP, or null.</summary>
    public IPEndPoint? HttpEndPoint { get; private init; }

    /// <summary>Where visitors connect by HTTPS, or null.</summary>
    public IPEndPoint? HttpsEndPoint { get; private init; }

    /// <summary>Where agents connect.</summary>
    public IPEndPoint UplinkEndPoint => _uplinks.EndPoint;

    /// <summary>Where administration is served.</summary>
    public IPEndPoint AdminEndPoint { get; private init; } = null!;

    /// <summary>The live view of requests.</summary>
    public LivePlane Live => _application.Services.GetRequiredService<LivePlane>();

    /// <summary>The directory of sessions.</summary>
    public ISessionDirectory Directory => _directory;

    /// <summary>Starts everything; it serves when the task ends.</summary>
    /// <param name="settings">The checked settings.</param>
    /// <param name="engine">The process's engine.</param>
    /// <param name="configureLogging">Where log lines go.</param>
    /// <exception cref="IOException">A listener's address is in use or cannot be had.</exception>
    public static async Task<ProxyEntryHost> StartAsync(ProxyEntrySettings settings, IEngine engine, Action<ILoggingBuilder> configureLogging)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        var listeners = new List<(string Kind, ListenOptions Options)>();
        configureLogging(builder.Logging);
        builder.WebHost.UseKestrelCore().UseKestrelHttpsConfiguration();
        builder.Services.Configure<SocketTransportOptions>(sockets =>
        {
            sockets.UnsafePreferInlineScheduling = engine.IsInline;
            sockets.Backlog = 4096;
            sockets.CreateBoundListenSocket = endPoint => BindListener(endPoint, settings);
        });
        builder.Services.Configure<KestrelServerOptions>(kestrel => ConfigureKestrel(kestrel, settings, listeners));
        builder.Services.AddMetrics();
        builder.Services.AddTunnel2Core(settings, engine);
        var application = builder.Build();
        var services = application.Services;
        var logger = services.GetRequiredService<ILogger<ProxyEntryHost>>();
        UplinkListener? uplinks = null;
        try
        {
            services.GetRequiredService<PrometheusCollector>();
            services.GetRequiredService<LivePlane>().Start();
            await services.GetRequiredService<IServer>().StartAsync(services.GetRequiredService<EntryApplication>(), CancellationToken.None).ConfigureAwait(false);
            uplinks = Listen(settings, services);
            var host = new ProxyEntryHost(application, uplinks, logger)
            {
                HttpEndPoint = Bound(listeners, "http"),
                HttpsEndPoint = Bound(listeners, "https"),
                AdminEndPoint = Bound(listeners, "admin")!,
            };
            services.GetRequiredService<PublicAddresses>().Bound(host.HttpEndPoint, host.HttpsEndPoint);
            uplinks.Start();
            host.Announce(settings);
            return host;
        }
        catch
        {
            if (uplinks is not null)
            {
                await uplinks.DisposeAsync().ConfigureAwait(false);
            }

            await application.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Stops in order: not ready any more, no new connections, sessions told, requests under way finished for a while.</summary>
    public async Task StopAsync()
    {
        if (_stopped)
        {
            return;
        }

        _stopped = true;
        _readiness.MarkDraining();
        var sessions = _directory.Snapshot();
        ProxyEntryLog.Draining(_logger, sessions.Count, sessions.Sum(static session => session.Tunnel.OpenStreams));
        foreach (var session in sessions)
        {
            foreach (var uplink in session.Tunnel.Uplinks)
            {
                uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "The server is stopping.");
            }
        }

        Live.CloseSubscribers();
        using var limit = new CancellationTokenSource(_stopLimit);
        await _server.StopAsync(limit.Token).ConfigureAwait(false);
        foreach (var session in _directory.Snapshot())
        {
            session.Tunnel.End(SessionEndReason.Shutdown, "The server stopped.");
        }

        await _uplinks.DisposeAsync().ConfigureAwait(false);
        ProxyEntryLog.Stopped(_logger);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await StopAsync().ConfigureAwait(false);
        await _application.DisposeAsync().ConfigureAwait(false);
    }

    /// <summary>Kestrel says neither which setting an address came from nor, for some faults, which address it was.</summary>
    private static Socket BindListener(EndPoint endPoint, ProxyEntrySettings settings)
    {
        try
        {
            return SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
        }
        catch (SocketException exception)
        {
            var key = endPoint.Equals(settings.HttpListen) ? "Public:HttpListen" : endPoint.Equals(settings.HttpsListen) ? "Public:HttpsListen" : "Admin:Listen";
            throw BindFailed(endPoint, key, exception);
        }
    }

    private static IOException BindFailed(EndPoint endPoint, string key, SocketException exception) =>
        new($"Failed to bind to address {endPoint} (Tunnel2:{key}): {exception.Message}", exception);

    private static UplinkListener Listen(ProxyEntrySettings settings, IServiceProvider services)
    {
        try
        {
            return new UplinkListener(
                settings.UplinkListen, services.GetRequiredService<UplinkAcceptor>(), services.GetRequiredService<TimeProvider>(), services.GetRequiredService<ILogger<UplinkListener>>());
        }
        catch (SocketException exception)
        {
            throw BindFailed(settings.UplinkListen, "Uplink:Listen", exception);
        }
    }

    private static IPEndPoint? Bound(List<(string Kind, ListenOptions Options)> listeners, string kind) =>
        listeners.FirstOrDefault(listener => listener.Kind == kind).Options?.IPEndPoint;

    private void Announce(ProxyEntrySettings settings)
    {
        foreach (var endPoint in new[] { HttpEndPoint, HttpsEndPoint })
        {
            if (endPoint is not null)
            {
                ProxyEntryLog.ListeningForVisitors(_logger, endPoint == HttpsEndPoint ? $"https://{endPoint}" : $"http://{endPoint}");
            }
        }

        ProxyEntryLog.ListeningForAgents(_logger, UplinkEndPoint, "plaintext");
        ProxyEntryLog.ListeningForAdmin(_logger, AdminEndPoint);
        if (settings.TestMode)
        {
            ProxyEntryLog.TestModeIsOn(_logger);
        }

        _readiness.MarkReady();
        ProxyEntryLog.Ready(_logger, _application.Services.GetRequiredService<PublicAddresses>().Main("{name}"));
    }

    private static void ConfigureKestrel(KestrelServerOptions kestrel, ProxyEntrySettings settings, List<(string Kind, ListenOptions Options)> listeners)
    {
        kestrel.AddServerHeader = false;

        // Sizes and rates are the backend's business; standing still is the watchdog's.
        kestrel.Limits.MaxRequestBodySize = null;
        kestrel.Limits.MinRequestBodyDataRate = null;
        kestrel.Limits.MinResponseDataRate = null;
        kestrel.Limits.MaxRequestLineSize = 16 * 1024;
        kestrel.Limits.MaxRequestHeadersTotalSize = 64 * 1024;
        kestrel.Limits.MaxRequestHeaderCount = 200;
        kestrel.Limits.Http2.KeepAlivePingDelay = TimeSpan.FromSeconds(30);

        // Characters are bytes: what a visitor or backend wrote beyond ASCII passes unchanged.
        kestrel.RequestHeaderEncodingSelector = static _ => Encoding.Latin1;
        kestrel.ResponseHeaderEncodingSelector = static _ => Encoding.Latin1;
        if (settings.HttpListen is { } http)
        {
            kestrel.Listen(http, listen =>
            {
                listen.Protocols = HttpProtocols.Http1;
                listeners.Add(("http", listen));
            });
        }

        if (settings.HttpsListen is { } https)
        {
            kestrel.Listen(https, listen =>
            {
                listen.Protocols = HttpProtocols.Http1AndHttp2;
                var intermediates = new X509Certificate2Collection();
                var certificate = settings.HttpsCertificate!.Load(intermediates);
                listen.UseHttps(tls =>
                {
                    tls.ServerCertificate = certificate;
                    tls.ServerCertificateChain = intermediates;
                });
                listeners.Add(("https", listen));
            });
        }

        kestrel.Listen(settings.AdminListen, listen =>
        {
            listen.Protocols = HttpProtocols.Http1;
            listen.Use(static (ConnectionDelegate next) => connection =>
            {
                connection.Features.Set(AdminListenerFeature.Instance);
                return next(connection);
            });
            listeners.Add(("admin", listen));
        });
    }
}
