namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>Registers tunnel servers with a host. Not thread-safe, as service collections are not.</summary>
public static class Tunnel2ServiceCollectionExtensions
{
    /// <summary>
    /// Registers a tunnel server that starts and stops with the host. Each call adds another one, which needs its own ports; its addresses
    /// are in a <see cref="ProxyEntryServer"/>.
    /// </summary>
    /// <remarks>
    /// <para>
    /// The settings are those of docs/settings.md: section <c>Tunnel2</c> of the host's configuration, and over it
    /// <paramref name="values"/>. <c>LogLevel</c> is for the program tunnel2-entry; here the host's filters decide. Agents, their tokens
    /// and tiers follow the host's configuration while it runs, within 2 s of a reload. All other changes need a restart.
    /// </para>
    /// <para>
    /// If settings are wrong, the host's start fails with a <see cref="ProxyEntrySettingsException"/> before any service starts. If a
    /// listener's address, an event loop or enough open files are not available, it fails with an <see cref="IOException"/>.
    /// </para>
    /// <para>
    /// When the host stops, the server drains before any other service stops: no new visitors, running requests get up to
    /// <c>Timeouts:Drain</c> (30 s), and agents are sent away. The host's <see cref="HostOptions.ShutdownTimeout"/> (30 s) may end this
    /// earlier: running requests are then cut, which takes up to a few seconds more.
    /// </para>
    /// <para>
    /// Loggers and, if one is registered, the <see cref="TimeProvider"/> are the host's. All other parts are the server's own. Servers of
    /// one process share only pools of buffers and the limit of open files, of which each divides what is free when it starts. With several
    /// servers, set <c>Limits:Connections</c>.
    /// </para>
    /// </remarks>
    /// <param name="services">The host's services.</param>
    /// <param name="values">
    /// Settings as pairs of key and value, relative to the section, such as <c>Uplink:Listen</c>. They win over the configuration.
    /// </param>
    /// <returns>The same services.</returns>
    public static IServiceCollection AddTunnel2ProxyEntry(
        this IServiceCollection services, params IEnumerable<KeyValuePair<string, string?>> values)
    {
        ArgumentNullException.ThrowIfNull(services);
        ArgumentNullException.ThrowIfNull(values);
        KeyValuePair<string, string?>[] given = [.. values];
        return services.AddProxyEntryServer(
            provider => ProxyEntryLaunch.OfHost(provider.GetService<IConfiguration>() ?? new ConfigurationBuilder().Build(), given));
    }

    /// <summary>The same for the program, which reads the settings itself.</summary>
    internal static IServiceCollection AddProxyEntryServer(this IServiceCollection services, Func<IServiceProvider, ProxyEntryLaunch> load)
    {
        var server = new ProxyEntryServer();
        services.AddSingleton(server);
        return services.AddSingleton<IHostedService>(provider => new ProxyEntryService(
            server,
            () => load(provider),
            provider.GetRequiredService<ILoggerFactory>(),
            provider.GetService<TimeProvider>() ?? TimeProvider.System));
    }
}
