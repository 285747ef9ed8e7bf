using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Cluster.Keeping;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Diagnostics.Summing;
using Tunnel2.ProxyEntry.Draining;
using Tunnel2.ProxyEntry.Fronts.HttpContexts;
using Tunnel2.ProxyEntry.Fronts.Raw;
using Tunnel2.ProxyEntry.Fronts.Tls;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Otlp;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>A running ProxyEntry: its listeners and all parts of the server.</summary>
internal sealed class ProxyEntryHost : IAsyncDisposable
{
    private readonly WebApplication _application;
    private readonly UplinkListener _uplinks;
    private readonly UplinkTlsSetup _tls;
    private readonly ReloadLoop _reload;
    private readonly ISessionDirectory _directory;
    private readonly Readiness _readiness;
    private readonly ILogger _logger;
    private OtlpExport? _export;
    private bool _stopped;

    private ProxyEntryHost(WebApplication application, UplinkListener uplinks, UplinkTlsSetup tls, ReloadLoop reload, ILogger logger)
    {
        _application = application;
        _directory = application.Services.GetRequiredService<ISessionDirectory>();
        _readiness = application.Services.GetRequiredService<Readiness>();
        _uplinks = uplinks;
        _tls = tls;
        _reload = reload;
        _logger = logger;
    }

    /// <summary>The address for visitors over HTTP, or null.</summary>
    public IPEndPoint? HttpEndPoint { get; private init; }

    /// <summary>The address for visitors over HTTPS, or null.</summary>
    public IPEndPoint? HttpsEndPoint { get; private init; }

    /// <summary>The address for visitors of TLS by name alone, or null.</summary>
    public IPEndPoint? TlsEndPoint { get; private init; }

    /// <summary>The address for agents.</summary>
    public IPEndPoint UplinkEndPoint => _uplinks.EndPoint;

    /// <summary>The certificate that agents get now; null for plaintext.</summary>
    public ServerCertificate? UplinkCertificate => _tls.Certificate?.Current;

    /// <summary>The parts of the server, for tests.</summary>
    internal IServiceProvider Services => _application.Services;

    /// <summary>The address for administration.</summary>
    public IPEndPoint AdminEndPoint { get; private init; } = null!;

    /// <summary>What limits the service now, such as an event loop that hangs; null: nothing does.</summary>
    public string? Trouble => _readiness.Trouble;

    /// <summary>Number of requests that wait for an agent now.</summary>
    public int ParkedRequests => _application.Services.GetRequiredService<ParkingLot>().Count;

    /// <summary>The collector for <c>/metrics</c>.</summary>
    public PrometheusCollector Metrics => _application.Services.GetRequiredService<PrometheusCollector>();

    /// <summary>The live view of requests.</summary>
    public LivePlane Live => _application.Services.GetRequiredService<LivePlane>();

    /// <summary>Whether it takes new work.</summary>
    public Readiness Readiness => _readiness;

    /// <summary>The directory of sessions.</summary>
    public ISessionDirectory Directory => _directory;

    /// <summary>Starts all parts; when the task ends, the server serves.</summary>
    /// <param name="settings">The checked settings.</param>
    /// <param name="engine">The process's engine.</param>
    /// <param name="configureLogging">Configures the log.</param>
    /// <param name="source">The source of the settings, from which the agents are read again when it changes; null: never.</param>
    /// <param name="inherited">Listening sockets that were handed over, with the addresses of the settings; null: none.</param>
    /// <exception cref="IOException">A listener's address is in use or not available.</exception>
    public static async Task<ProxyEntryHost> StartAsync(
        ProxyEntrySettings settings, IEngine engine, Action<ILoggingBuilder> configureLogging, ISettingsSource? source = null,
        InheritedSockets? inherited = null)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        var listeners = new List<(string Kind, ListenOptions Options)>();
        configureLogging(builder.Logging);
        builder.Services.AddLogSums();
        builder.WebHost.UseKestrelCore().UseKestrelHttpsConfiguration();
        builder.Services.Configure<SocketTransportOptions>(sockets =>
        {
            sockets.UnsafePreferInlineScheduling = engine.IsInline;
            sockets.Backlog = 4096;
            sockets.CreateBoundListenSocket = endPoint => BindListener(endPoint, settings, inherited);
        });
        var connections = new ListenerConnections(engine.Faults);
        builder.Services.AddSingleton(connections);

        // Registered last, because Kestrel uses the last one.
        builder.Services.AddSingleton<IConnectionListenerFactory>(static provider => provider.GetRequiredService<SocketListenerFactory>());
        if (engine.Loops.Count > 0)
        {
            builder.Services.AddSingleton<IConnectionListenerFactory, EpollTransportFactory>();
        }

        StoppableListenerFactory.AddTo(builder.Services, settings.AdminListen);
        builder.Services.Configure<KestrelServerOptions>(kestrel => KestrelSetup.Apply(kestrel, settings, listeners, connections));
        builder.Services.AddMetrics();
        builder.Services.AddTunnel2Core(settings, engine);
        var application = builder.Build();
        var services = application.Services;
        var logger = services.GetRequiredService<ILogger<ProxyEntryHost>>();
        UplinkListener? uplinks = null;
        if (inherited is { Names: { Count: > 0 } names })
        {
            ProxyEntryLog.SocketsInherited(logger, inherited.Holders, string.Join(", ", names));
        }

        try
        {
            services.GetRequiredService<FaultMetrics>();
            services.GetRequiredService<LogSumMetrics>();
            engine.Faults.Report = (place, count, fault) => ProxyEntryLog.FaultContained(logger, place, count, fault);
            services.GetRequiredService<PrometheusCollector>();
            services.GetRequiredService<LoopWatch>();
            var running = services.GetRequiredService<EngineMetrics>();
            ProxyEntryLog.EngineRuns(logger, running.Engine, running.Loops, Environment.ProcessorCount);
            var tls = UplinkTlsSetup.Create(settings, services);
            services.GetRequiredService<LivePlane>().Start(tls.Certificate);
            await services.GetRequiredService<IServer>()
                .StartAsync(services.GetRequiredService<EntryApplication>(), CancellationToken.None)
                .ConfigureAwait(false);
            uplinks = Listen(settings, tls.Server, services, inherited);
            services.StartNodeLinks();
            var host = new ProxyEntryHost(application, uplinks, tls, CreateReload(settings, source, tls, services), logger)
            {
                HttpEndPoint = Bound(listeners, "http"),
                HttpsEndPoint = Bound(listeners, "https"),
                AdminEndPoint = Bound(listeners, "admin")!,
                TlsEndPoint = ListenForTls(settings, services),
            };
            host._export = OtlpExport.Start(settings, services.GetRequiredService<ProxyEntryMetrics>());
            services.GetRequiredService<PublicAddresses>().Bound(
                host.HttpEndPoint, host.HttpsEndPoint, host.TlsEndPoint);
            ShownCertificates.List(settings, tls, services);
            services.GetRequiredService<CertificateMetrics>();
            if (host.HttpsEndPoint is { } https)
            {
                services.GetRequiredService<HttpsRules>().Bound(https.Port);
            }

            services.GetRequiredService<IssuedTokens>().Load();
            services.GetRequiredService<KeptPolicies>().Load();

            // Before the first agent connects, because the first limits would refuse it, and a cluster unknown names.
            host.DivideDescriptors(settings);
            if (services.GetService<ClusterMember>() is { } member)
            {
                await member.StartAsync().ConfigureAwait(false);
            }

            uplinks.Start();
            host._reload.Start();
            services.GetService<AutomaticCertificates>()?.Start();
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

    /// <summary>Logs why the server will stop: the holder of the listening sockets has ended.</summary>
    public void ReportHolderEnded(string holder) => ProxyEntryLog.HolderEnded(_logger, holder);

    /// <summary>Stops in order; see <see cref="EntryDrain"/>.</summary>
    /// <param name="hurry">Ends the grace of running requests.</param>
    public async Task StopAsync(CancellationToken hurry = default)
    {
        if (_stopped)
        {
            return;
        }

        _stopped = true;
        await _reload.DisposeAsync().ConfigureAwait(false);
        Live.CloseSubscribers();
        await _application.Services.GetRequiredService<EntryDrain>().RunAsync(_uplinks, hurry).ConfigureAwait(false);
        if (_application.Services.GetService<AutomaticCertificates>() is { } certificates)
        {
            // While the node can still say that another one may continue what it has begun.
            await certificates.StopAsync().ConfigureAwait(false);
        }

        if (_application.Services.GetService<ClusterMember>() is { } member)
        {
            await member.DisposeAsync().ConfigureAwait(false);
        }

        if (_export is not null)
        {
            await _export.DisposeAsync().ConfigureAwait(false);
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await StopAsync().ConfigureAwait(false);
        await _application.DisposeAsync().ConfigureAwait(false);
    }

    /// <summary>
    /// Binds it here, because Kestrel does not report which setting an address came from, nor for some faults which address it was.
    /// </summary>
    private static Socket BindListener(EndPoint endPoint, ProxyEntrySettings settings, InheritedSockets? inherited)
    {
        // Compared by reference: two listeners on port 0 have equal addresses.
        var key = ReferenceEquals(endPoint, settings.HttpListen) ? SettingKeys.HttpListen
            : ReferenceEquals(endPoint, settings.HttpsListen) ? SettingKeys.HttpsListen
            : SettingKeys.AdminListen;
        try
        {
            var socket = inherited?.Take(key) ?? SocketTransportOptions.CreateDefaultBoundListenSocket(endPoint);
            VisitorSockets.LimitSilence(socket, settings.BodyIdleTimeout);
            return socket;
        }
        catch (SocketException exception)
        {
            throw BindFailed(endPoint, key, exception);
        }
    }

    private static IOException BindFailed(EndPoint endPoint, string key, SocketException exception) =>
        new($"Failed to bind to address {endPoint} (Tunnel2:{key}): {exception.Message}", exception);

    private static UplinkListener Listen(
        ProxyEntrySettings settings, UplinkTlsServer? tls, IServiceProvider services, InheritedSockets? inherited)
    {
        var limits = services.GetRequiredService<ConnectionLimits>();
        try
        {
            return new UplinkListener(
                inherited?.Take(SettingKeys.UplinkListen) ?? UplinkListener.Bind(settings.UplinkListen),
                services.GetRequiredService<UplinkAcceptor>(),
                tls,
                services.GetRequiredService<IEngine>(),
                limits.Handshakes,
                limits.AcceptFailed,
                services.GetRequiredService<TimeProvider>(),
                services.GetRequiredService<ILogger<UplinkListener>>());
        }
        catch (SocketException exception)
        {
            throw BindFailed(settings.UplinkListen, SettingKeys.UplinkListen, exception);
        }
    }

    private static IPEndPoint? ListenForTls(ProxyEntrySettings settings, IServiceProvider services)
    {
        try
        {
            return services.GetRequiredService<TunnelPorts>().ListenForTls();
        }
        catch (SocketException exception)
        {
            throw BindFailed(settings.TlsListen!, SettingKeys.TlsListen, exception);
        }
    }

    private static ReloadLoop CreateReload(
        ProxyEntrySettings settings, ISettingsSource? source, UplinkTlsSetup tls, IServiceProvider services)
    {
        List<IReloadable> reloadables =
        [
            services.GetRequiredService<IssuedTokens>(), services.GetRequiredService<KeptPolicies>(), .. services.NodeLinkReloadables(),
        ];
        if (tls.Certificate is { } certificate)
        {
            reloadables.Add(certificate);
        }

        if (settings.HttpsListen is not null)
        {
            reloadables.AddRange(services.GetRequiredService<VisitorTls>().Reloadables);
        }

        if (services.GetRequiredService<LivePlane>().RelayCertificate is { } relay)
        {
            reloadables.Add(relay);
        }

        if (source is not null)
        {
            reloadables.Add(
                new AgentsReload(
                    source, services.GetRequiredService<SessionRevocation>(), services.GetRequiredService<ILogger<AgentsReload>>()));
        }

        return new ReloadLoop(reloadables, services.GetRequiredService<TimeProvider>(), services.GetRequiredService<ContainedFaults>());
    }

    /// <summary>Divides the descriptors that are left when all permanent ones are open.</summary>
    /// <exception cref="IOException">The process may have too few files open.</exception>
    private void DivideDescriptors(ProxyEntrySettings settings)
    {
        var services = _application.Services;
        var limit = OpenFiles.Limit();
        if (limit < DescriptorBudget.FewFiles)
        {
            LaterAssemblies.Load();
        }

        var open = OpenFiles.Count();
        var budget = DescriptorBudget.Divide(limit, open, settings) ?? throw new IOException(
            $"this process may have {limit} files open, {open} are, and at least {DescriptorBudget.Least(limit, open, settings)} are "
                + $"needed: raise the limit (ulimit -n, LimitNOFILE)");
        services.GetRequiredService<ConnectionLimits>().Apply(budget);
        Live.LimitSubscribers(budget.Subscribers, limit);
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

        if (TlsEndPoint is { } tls)
        {
            ProxyEntryLog.ListeningForTls(_logger, tls);
        }

        ProxyEntryLog.ListeningForAgents(_logger, UplinkEndPoint, _tls.Description);
        if (_tls.Certificate is { Current: var certificate })
        {
            ProxyEntryLog.CertificateInUse(_logger, certificate.Subject, certificate.Until, certificate.Fingerprint.ToString());
        }

        ProxyEntryLog.ListeningForAdmin(_logger, AdminEndPoint);
        if (Live.Hub is not null)
        {
            ProxyEntryLog.DashboardAt(_logger, AdminAddress.UrlOf(AdminEndPoint));
        }

        // The tokens of a cluster come from its database, later.
        var agents = _application.Services.GetRequiredService<AgentRegistry>().Current;
        if (!settings.AnonymousAgentsAllowed && agents.Count == 0 && settings.Cluster.Database is null)
        {
            ProxyEntryLog.NoAgentCanConnect(_logger);
        }

        if (settings.TestMode)
        {
            ProxyEntryLog.TestModeIsOn(_logger);
        }

        _readiness.MarkReady();
        ProxyEntryLog.Ready(_logger, _application.Services.GetRequiredService<PublicAddresses>().Main("{name}"));
    }
}
