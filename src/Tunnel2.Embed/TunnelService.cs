using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Tunnel2.Client.Core.Diagnostics;

namespace Tunnel2.Embed;

/// <summary>
/// Runs a tunnel for a generic host. It checks the options before any service of the host starts, opens the tunnel after all have started,
/// and drains it before any of them stops, because running requests still need them.
/// </summary>
internal sealed class TunnelService : IHostedLifecycleService, IAsyncDisposable
{
    /// <summary>A host's usual limit for its stop.</summary>
    public static readonly TimeSpan UsualShutdown = TimeSpan.FromSeconds(30);

    /// <summary>How long a refused tunnel rests, at first and at most: each time twice as long.</summary>
    private static readonly TimeSpan _firstRest = TimeSpan.FromSeconds(30);

    private static readonly TimeSpan _longestRest = TimeSpan.FromMinutes(5);

    /// <summary>What the drain leaves of the host's time for its stop.</summary>
    private static readonly TimeSpan _margin = TimeSpan.FromSeconds(3);

    private static readonly TimeSpan _leastDrain = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan _mostDrain = TimeSpan.FromDays(1);

    /// <summary>How long a tunnel that was cut is waited for.</summary>
    private static readonly TimeSpan _cutLimit = TimeSpan.FromSeconds(5);

    private readonly CancellationTokenSource _stop = new();
    private readonly CancellationTokenSource _hurry = new();
    private readonly TunnelPlan _plan;
    private readonly Tunnel2Urls _urls;
    private readonly AgentProcess _agents;
    private readonly ILoggerFactory _loggers;
    private readonly TimeProvider _time;
    private readonly TimeSpan _shutdown;
    private TunnelSettings? _settings;
    private TunnelReports? _reports;
    private Task _running = Task.CompletedTask;

    /// <param name="plan">What the tunnel is to be.</param>
    /// <param name="urls">Its URLs, which this sets.</param>
    /// <param name="agents">What runs it.</param>
    /// <param name="loggers">The host's loggers.</param>
    /// <param name="time">The host's clock.</param>
    /// <param name="shutdown">The host's limit for its stop.</param>
    public TunnelService(
        TunnelPlan plan, Tunnel2Urls urls, AgentProcess agents, ILoggerFactory loggers, TimeProvider time, TimeSpan shutdown)
    {
        _plan = plan;
        _urls = urls;
        _agents = agents;
        _loggers = loggers;
        _time = time;
        _shutdown = shutdown;
    }

    /// <inheritdoc/>
    public Task StartingAsync(CancellationToken cancellationToken)
    {
        var settings = _plan.Read();
        _settings = settings with { Agent = settings.Agent with { DrainLimit = DrainLimitOf(_shutdown), Hurry = _hurry.Token } };
        _urls.Name = settings.Agent.Name;
        return Task.CompletedTask;
    }

    /// <inheritdoc/>
    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <inheritdoc/>
    public async Task StartedAsync(CancellationToken cancellationToken)
    {
        var settings = _settings!;
        var reports = _reports = new TunnelReports(settings.Agent.Name, _urls, _loggers.CreateLogger(EmbedLog.Category), _time);
        if (_plan.FindObstacle() is { } obstacle)
        {
            if (settings.StartRequiresTunnel)
            {
                throw new Tunnel2StartException($"The tunnel is not opened: {obstacle}.");
            }

            reports.NotOpened(obstacle);
            return;
        }

        _running = Task.Run(() => RunAsync(settings, reports), CancellationToken.None);
        if (!settings.StartRequiresTunnel)
        {
            return;
        }

        string? trouble;
        try
        {
            trouble = await reports.First.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            await EndAsync(new CancellationToken(canceled: true)).ConfigureAwait(false);
            throw;
        }

        if (trouble is not null)
        {
            await EndAsync(new CancellationToken(canceled: true)).ConfigureAwait(false);
            throw new Tunnel2StartException(trouble);
        }
    }

    /// <inheritdoc/>
    public Task StoppingAsync(CancellationToken cancellationToken) => EndAsync(cancellationToken);

    /// <inheritdoc/>
    public Task StopAsync(CancellationToken cancellationToken) => EndAsync(cancellationToken);

    /// <inheritdoc/>
    public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>If a host is disposed of without a stop, running requests are not waited for.</summary>
    public async ValueTask DisposeAsync() => await EndAsync(new CancellationToken(canceled: true)).ConfigureAwait(false);

    /// <summary>How long a drain may take, so that the host's stop has time for the rest.</summary>
    internal static TimeSpan DrainLimitOf(TimeSpan shutdown) =>
        shutdown < TimeSpan.Zero || shutdown > _mostDrain ? _mostDrain
        : shutdown < _leastDrain + _margin ? _leastDrain
        : shutdown - _margin;

    private async Task RunAsync(TunnelSettings settings, TunnelReports reports)
    {
        var rest = _firstRest;
        while (!_stop.IsCancellationRequested)
        {
            Exception? fault = null;
            try
            {
                int end = await _agents.Get().RunAsync(settings.Agent, reports, _stop.Token).ConfigureAwait(false);
                if (end == AgentExitCode.Stopped || reports.IsSuperseded)
                {
                    break;
                }
            }
            catch (Exception exception)
            {
                // Of the agent itself, or the system has nothing left for it. The program is not to end by it.
                fault = exception;
            }

            rest = reports.TakeHasOpened() ? _firstRest : rest;
            if (_stop.IsCancellationRequested)
            {
                break;
            }

            reports.Rests(rest, fault);
            await Task.Delay(rest, _time, _stop.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            rest = rest * 2 < _longestRest ? rest * 2 : _longestRest;
        }

        reports.Closed();
    }

    /// <summary>Drains, and cuts what is left when there is no more time.</summary>
    private async Task EndAsync(CancellationToken hurry)
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        try
        {
            await _running.WaitAsync(hurry).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            await _hurry.CancelAsync().ConfigureAwait(false);
            await _running.WaitAsync(_cutLimit, CancellationToken.None).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        if (_reports is { } reports)
        {
            await reports.DisposeAsync().ConfigureAwait(false);
        }
        else
        {
            _urls.End();
        }
    }
}
