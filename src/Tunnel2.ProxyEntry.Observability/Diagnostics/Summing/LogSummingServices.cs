using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Options;

namespace Tunnel2.ProxyEntry.Diagnostics.Summing;

/// <summary>Puts the sums between all loggers and the outputs.</summary>
internal static class LogSummingServices
{
    public static IServiceCollection AddLogSums(this IServiceCollection services)
    {
        services.TryAddSingleton(TimeProvider.System);
        services.AddSingleton<LogSums>();
        services.AddSingleton<LogSumMetrics>();
        services.AddSingleton(static provider => new LoggerFactory(
            provider.GetServices<ILoggerProvider>(),
            provider.GetRequiredService<IOptionsMonitor<LoggerFilterOptions>>(),
            provider.GetRequiredService<IOptions<LoggerFactoryOptions>>()));

        // Disposal runs in the opposite order, so the last sums still find the inner factory's loggers.
        services.Replace(ServiceDescriptor.Singleton<ILoggerFactory>(static provider =>
            new SummingLoggerFactory(provider.GetRequiredService<LoggerFactory>(), provider.GetRequiredService<LogSums>())));
        return services;
    }
}
