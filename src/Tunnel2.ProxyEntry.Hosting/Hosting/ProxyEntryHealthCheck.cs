using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>The health of a host's servers: what <c>/health/ready</c> of each says. Thread-safe.</summary>
internal sealed class ProxyEntryHealthCheck(IEnumerable<ProxyEntryServer> servers) : IHealthCheck
{
    /// <inheritdoc/>
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        var reasons = servers.Select(static server => server.Running?.Readiness is not { } readiness ? "not started"
            : readiness.IsReady ? null : readiness.Reason).OfType<string>().ToList();
        return Task.FromResult(reasons.Count == 0
            ? HealthCheckResult.Healthy("ready")
            : new HealthCheckResult(context.Registration.FailureStatus, string.Join("; ", reasons)));
    }
}
