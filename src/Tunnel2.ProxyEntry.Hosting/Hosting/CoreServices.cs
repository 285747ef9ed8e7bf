using Microsoft.Extensions.DependencyInjection.Extensions;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Access.Bearer;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.AccessLog;
using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Cluster.Joining;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Domains;
using Tunnel2.ProxyEntry.Draining;
using Tunnel2.ProxyEntry.Forwarding;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Fronts.Http2;
using Tunnel2.ProxyEntry.Fronts.HttpContexts;
using Tunnel2.ProxyEntry.Fronts.Raw;
using Tunnel2.ProxyEntry.Fronts.Tls;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Inspection;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Oidc;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tokens;
using Tunnel2.ProxyEntry.Tracing;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>Registers the parts of ProxyEntry. A part that was registered before stays, so a host can replace the directory.</summary>
internal static class CoreServices
{
    public static IServiceCollection AddTunnel2Core(this IServiceCollection services, ProxyEntrySettings settings, IEngine engine)
    {
        services.AddSingleton(settings);
        services.AddSingleton(engine);
        services.AddSingleton(engine.Faults);
        services.AddSingleton<FaultMetrics>();
        services.TryAddSingleton(TimeProvider.System);
        if (settings.Cluster.Database is { } database)
        {
            services.AddTunnel2Cluster(
                database,
                new NodeFacts(
                    settings.EntryId, Guid.NewGuid(), "", HealthApi.Version, settings.Cluster.Uplink ?? "", settings.Cluster.Zone ?? "",
                    settings.Domain),
                settings.ParkTimeout, settings.Pool.Members);
        }

        services.TryAddSingleton<ISessionDirectory>(
            provider => new InMemorySessionDirectory(
                provider.GetRequiredService<TimeProvider>(), settings.ParkTimeout, settings.Pool.Members));
        services.AddSingleton<Readiness>();
        services.AddSingleton<DrainSignal>();
        services.AddSingleton<EntryDrain>();
        services.AddSingleton<ProxyEntryMetrics>();
        services.AddSingleton<EngineMetrics>();
        services.AddSingleton<LoopWatch>();
        services.AddSingleton<PrometheusCollector>();
        services.AddSingleton(
            provider => new AdminAuthorization(
                settings.AdminToken,
                new FailedAttempts(settings, provider.GetRequiredService<TimeProvider>()),
                settings.AdminMetricsToken,
                settings.AdminHosts));
        services.AddSingleton<AdminEndpoints>();
        services.AddSingleton<PublicAddresses>();
        services.AddSingleton<UplinkHeartbeat>();
        services.AddSingleton(new AgentRegistry(settings.Agents));
        services.AddSingleton<FailedAttempts>();
        services.AddSingleton<UplinkRejection>();
        services.AddSingleton<SessionRevocation>();
        services.AddSingleton<TokenUses>();
        services.AddSingleton<IssuedTokens>();
        services.AddSingleton<KeptPolicies>();
        services.AddSingleton<UplinkQuota>();
        services.AddSingleton<IUplinkPlaces>(static provider => provider.GetRequiredService<UplinkQuota>());
        services.AddSingleton<ConnectionMetrics>();
        services.AddSingleton<ConnectionLimits>();
        services.AddSingleton<BalancerHeaders>();
        services.AddSingleton<SocketListenerFactory>();
        services.AddSingleton<AgentAdmission>();
        services.AddSingleton<TxtResolver>();
        if (settings.Domains.HttpProof != HttpProofMode.Off)
        {
            services.AddSingleton<HttpProof>();
        }

        services.AddSingleton<DomainProofs>();
        services.AddSingleton<UplinkMetrics>();
        services.AddSingleton<StalledTransfers>();
        services.AddSingleton<SessionJoins>();
        services.AddSingleton<SessionUplinks>();
        services.AddSingleton<UplinkAcceptor>();
        services.AddSingleton<NodeReadings>();
        services.AddSingleton<LivePlane>();
        services.AddSingleton<LiveEndpoint>();
        services.AddSingleton<EntryInspections>();
        services.AddSingleton<SharedInspections>();
        services.AddSingleton<InspectionAudit>();
        services.AddSingleton<InspectionEndpoints>();
        services.AddSingleton<ApiAudit>();
        services.AddSingleton<HealthApi>();
        services.AddSingleton<SessionsApi>();
        services.AddSingleton<RequestsApi>();
        services.AddSingleton<CertificatesApi>();
        services.AddSingleton<AgentsApi>();
        services.AddSingleton<TokensApi>();
        services.AddSingleton<PoliciesApi>();
        services.AddSingleton<ApiRoutes>();
        services.AddSingleton<ApiEndpoints>();
        services.AddSingleton(static provider => provider.GetRequiredService<LivePlane>().Publisher);
        services.AddSingleton<NameResolver>();
        services.AddSingleton<ParkingLot>();
        services.AddSingleton<ParkingPolicy>();
        services.AddSingleton<LoginAttempts>();
        services.AddSingleton<PasswordChecks>();
        services.AddSingleton(static provider => new BearerVerifier(
            new KeyFetch(KeyFetch.CreateHandler(), provider.GetRequiredService<TimeProvider>()),
            provider.GetRequiredService<TimeProvider>(),
            provider.GetRequiredService<ILogger<BearerVerifier>>()));

        // Most servers check no such token: its libraries are loaded with the first one.
        services.AddSingleton(static provider => new Lazy<BearerVerifier>(provider.GetRequiredService<BearerVerifier>));
        services.AddSingleton<ISignIn, OidcSignIn>();
        services.AddSingleton<AccessGate>();
        services.AddSingleton<PolicyGate>();
        services.AddSingleton(static provider => new HeldMemory(
            provider.GetRequiredService<StalledTransfers>().Budget, provider.GetRequiredService<ProxyEntrySettings>().WebhookBodyBytes));
        services.AddSingleton(static provider => ActivatorUtilities.CreateInstance<LargeHeads>(
            provider, provider.GetRequiredService<StalledTransfers>().Budget));
        services.AddSingleton<WebhookGate>();
        services.AddSingleton<PatientOpener>();
        services.AddSingleton<ForwardWatchdog>();
        services.AddSingleton<CrowdedPlaces>();
        services.AddSingleton<RequestTracer>();
        services.AddSingleton<ResponsePump>();
        services.AddSingleton<RequestAccessLog>();
        services.AddSingleton<RequestMetrics>();
        services.AddSingleton(ObserversOf);
        services.AddSingleton<Forwarder>();
        services.AddSingleton<IForwarder>(static provider => provider.GetRequiredService<Forwarder>());
        services.AddSingleton<ConnectionSweep>();
        services.AddSingleton<IWaitingConnections>(static provider => provider.GetRequiredService<ConnectionSweep>());
        services.AddSingleton<WebSocketUplinks>();
        services.AddSingleton<Http1Front>();
        services.AddSingleton<IConnectionFront>(static provider => provider.GetRequiredService<Http1Front>());
        services.AddSingleton<RawFront>();
        services.AddSingleton<SniFront>();
        services.AddSingleton<TunnelPorts>();
        services.AddSingleton<ITunnelPorts>(static provider => provider.GetRequiredService<TunnelPorts>());
        services.AddSingleton(static provider =>
            new HandshakeTurns(Environment.ProcessorCount, provider.GetRequiredService<ContainedFaults>()));
        services.AddSingleton<VisitorTls>();
        services.AddSingleton<Http2Floods>();
        services.AddSingleton<CertificateUses>();
        services.AddSingleton<CertificateMetrics>();
        services.AddSingleton<HttpsRules>();
        services.AddSingleton<PendingChallenges>();
        services.AddSingleton<EdgeAnswers>();
        services.AddSingleton<AcmeTlsFront>();
        if (settings.Acme.Directory is not null)
        {
            services.AddSingleton<AutomaticCertificates>();
        }

        if (settings.NodeLinks.Listen is not null)
        {
            services.AddNodeLinks();
        }

        services.AddSingleton<EntryApplication>();
        return services;
    }

    /// <summary>The observers of requests: metrics first, then the others, and last those that a host has registered.</summary>
    private static RequestObservers ObserversOf(IServiceProvider provider) => new(
    [
        provider.GetRequiredService<RequestMetrics>(),
        provider.GetRequiredService<RequestPublisher>(),
        provider.GetRequiredService<RequestAccessLog>(),
        provider.GetRequiredService<RequestTracer>(),
        .. provider.GetServices<RequestObserver>(),
    ]);
}
