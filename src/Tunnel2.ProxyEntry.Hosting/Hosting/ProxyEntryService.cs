using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// Runs a server for a generic host, and owns its engine. It checks the settings before any service of the host starts. It drains before
/// any service of the host stops, because its backend, or an agent, may be one of them, and running requests still need it.
/// </summary>
internal sealed class ProxyEntryService : IHostedLifecycleService, IAsyncDisposable
{
    private readonly ProxyEntryServer _server;
    private readonly Func<ProxyEntryLaunch> _load;
    private readonly ILoggerFactory _loggers;
    private readonly TimeProvider _timeProvider;
    private ProxyEntryLaunch? _launch;
    private ProxyEntryHost? _host;
    private IEngine? _engine;

    public ProxyEntryService(ProxyEntryServer server, Func<ProxyEntryLaunch> load, ILoggerFactory loggers, TimeProvider timeProvider)
    {
        _server = server;
        _load = load;
        _loggers = loggers;
        _timeProvider = timeProvider;
    }

    /// <inheritdoc/>
    public Task StartingAsync(CancellationToken cancellationToken)
    {
        _launch = _load();
        return Task.CompletedTask;
    }

    /// <inheritdoc/>
    public async Task StartAsync(CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        var launch = _launch ??= _load();
        _engine = StartEngine(launch.Settings);
        _host = await ProxyEntryHost.StartAsync(launch.Settings, _engine, UseHost, launch.Source, launch.Inherited).ConfigureAwait(false);
        _server.Started(_host);
    }

    /// <inheritdoc/>
    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <inheritdoc/>
    public Task StoppingAsync(CancellationToken cancellationToken) => EndAsync(cancellationToken);

    /// <inheritdoc/>
    public Task StopAsync(CancellationToken cancellationToken) => EndAsync(cancellationToken);

    /// <inheritdoc/>
    public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>If a host is disposed of without a stop, running requests are not waited for.</summary>
    public async ValueTask DisposeAsync() => await EndAsync(new CancellationToken(canceled: true)).ConfigureAwait(false);

    private static IEngine StartEngine(ProxyEntrySettings settings)
    {
        try
        {
            return EngineSetup.Start(settings.Engine, settings.Loops);
        }
        catch (IOException exception)
        {
            throw new IOException($"{settings.Loops} event loops cannot be started (Tunnel2:Loops): {exception.Message}", exception);
        }
    }

    private async Task EndAsync(CancellationToken hurry)
    {
        try
        {
            if (Interlocked.Exchange(ref _host, null) is { } host)
            {
                await host.StopAsync(hurry).ConfigureAwait(false);
                await host.DisposeAsync().ConfigureAwait(false);
            }
        }
        finally
        {
            Interlocked.Exchange(ref _engine, null)?.Dispose();
        }
    }

    private void UseHost(ILoggingBuilder logging)
    {
        logging.SetMinimumLevel(LogLevel.Trace).AddProvider(new HostLoggerProvider(_loggers));
        logging.Services.AddSingleton(_timeProvider);
    }
}
