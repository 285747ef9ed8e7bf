using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace Tunnel2.Embed;

/// <summary>Registers agents with a host. Not thread-safe, as service collections are not.</summary>
public static class Tunnel2AgentServiceCollectionExtensions
{
    /// <summary>
    /// Registers a tunnel that forwards requests of visitors to a service, such as a port of this machine, while the host runs. Each call
    /// adds one; its URLs are in a <see cref="Tunnel2Urls"/>.
    /// </summary>
    /// <remarks>
    /// The tunnel opens after the host has started, and again after each interruption. When the host stops, it is drained before any
    /// service stops: requests under way get what <see cref="HostOptions.ShutdownTimeout"/> leaves. If options are wrong, the host's start
    /// fails with a <see cref="Tunnel2OptionsException"/>.
    /// </remarks>
    /// <param name="services">The host's services.</param>
    /// <param name="configure">Sets options. It is called when the host starts.</param>
    /// <returns>The same services.</returns>
    public static IServiceCollection AddTunnel2Agent(this IServiceCollection services, Action<Tunnel2AgentOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(services);
        ArgumentNullException.ThrowIfNull(configure);
        return services.AddTunnel(new Tunnel2Urls(), new TunnelPlan(
            () =>
            {
                var options = new Tunnel2AgentOptions();
                configure(options);
                return OptionsReader.Read(options);
            },
            static () => null));
    }

    internal static IServiceCollection AddTunnel(this IServiceCollection services, Tunnel2Urls urls, TunnelPlan plan)
    {
        services.TryAddSingleton(static provider => new AgentProcess(
            provider.GetRequiredService<ILoggerFactory>(), provider.GetService<TimeProvider>() ?? TimeProvider.System));
        services.AddSingleton(urls);
        return services.AddSingleton<IHostedService>(provider => new TunnelService(
            plan,
            urls,
            provider.GetRequiredService<AgentProcess>(),
            provider.GetRequiredService<ILoggerFactory>(),
            provider.GetService<TimeProvider>() ?? TimeProvider.System,
            provider.GetService<IOptions<HostOptions>>()?.Value.ShutdownTimeout ?? TunnelService.UsualShutdown));
    }
}
