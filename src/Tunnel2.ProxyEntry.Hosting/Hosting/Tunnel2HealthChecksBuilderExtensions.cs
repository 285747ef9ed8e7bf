using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>Registers the health of tunnel servers with a host. Not thread-safe, as service collections are not.</summary>
public static class Tunnel2HealthChecksBuilderExtensions
{
    /// <summary>
    /// Registers a health check for all tunnel servers of the host. It is healthy while each of them is ready, as <c>/health/ready</c> of
    /// its admin listener says; otherwise its description has the reason. The check waits for nothing.
    /// </summary>
    /// <param name="builder">The host's health checks.</param>
    /// <param name="name">The name of the check.</param>
    /// <param name="failureStatus">The status where a server is not ready; null: unhealthy.</param>
    /// <param name="tags">Tags by which endpoints choose checks; null: none.</param>
    /// <returns>The same health checks.</returns>
    public static IHealthChecksBuilder AddTunnel2ProxyEntry(
        this IHealthChecksBuilder builder, string name = "tunnel2", HealthStatus? failureStatus = null, IEnumerable<string>? tags = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.Add(new HealthCheckRegistration(
            name, static provider => new ProxyEntryHealthCheck(provider.GetServices<ProxyEntryServer>()), failureStatus, tags));
    }
}
