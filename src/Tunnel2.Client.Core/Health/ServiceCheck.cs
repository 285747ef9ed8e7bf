using System.Globalization;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Client.Core.Health;

/// <summary>
/// Checks the service again and again, and says when it begins or ceases to work: the first check decides at once, later ones only several
/// in a row. Thread-safe.
/// </summary>
internal sealed class ServiceCheck : IDisposable
{
    private readonly HealthCheck _check;
    private readonly BackendTarget _target;
    private readonly Func<CancellationToken, Task<string?>> _look;
    private readonly IAgentEvents _events;
    private readonly TimeProvider _time;
    private readonly CancellationTokenSource _ended = new();
    private readonly CancellationToken _stop;
    private int _state;
    private int _against;

    /// <param name="check">How to check.</param>
    /// <param name="target">The service, for the user.</param>
    /// <param name="look">Looks once: what is wrong, or null.</param>
    /// <param name="events">Get each change.</param>
    /// <param name="time">The clock.</param>
    public ServiceCheck(
        HealthCheck check, BackendTarget target, Func<CancellationToken, Task<string?>> look, IAgentEvents events, TimeProvider time)
    {
        _check = check;
        _target = target;
        _look = look;
        _events = events;
        _time = time;
        _stop = _ended.Token;
    }

    /// <summary>Raised after each change of <see cref="State"/>. Handlers must not block or throw.</summary>
    public event Action? Changed;

    /// <summary>How the service is; None before the first check is over.</summary>
    public ServiceState State => (ServiceState)Volatile.Read(ref _state);

    /// <summary>Begins with a first check; returns at once.</summary>
    public void Start() => _ = Task.Run(RunAsync, CancellationToken.None);

    /// <summary>Ends it: it reports nothing more.</summary>
    public void Dispose() => _ended.Cancel();

    /// <summary>Counts the result of a check.</summary>
    /// <param name="problem">What is wrong, or null.</param>
    internal void Note(string? problem)
    {
        var found = problem is null ? ServiceState.Healthy : ServiceState.Unhealthy;
        var state = State;
        if (found == state)
        {
            _against = 0;
            return;
        }

        _against++;
        var enough = state switch
        {
            ServiceState.Healthy => _check.Failures,
            ServiceState.Unhealthy => _check.Successes,
            _ => 1,
        };
        if (_against < enough)
        {
            return;
        }

        _against = 0;
        Volatile.Write(ref _state, (int)found);
        if (problem is not null || state != ServiceState.None)
        {
            _events.ServiceChecked(_target, problem is null, problem is null
                ? $"The service at {_target} works again: the pool gives it requests"
                : string.Create(
                    CultureInfo.InvariantCulture,
                    $"The service at {_target} does not pass its check ({_check.Target}: {problem}): other agents of the pool serve"));
        }

        Changed?.Invoke();
    }

    private async Task RunAsync()
    {
        try
        {
            while (true)
            {
                Note(await LookAsync().ConfigureAwait(false));
                await Task.Delay(_check.Interval, _time, _stop).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException)
        {
            // Stopped.
        }
    }

    private async Task<string?> LookAsync()
    {
        try
        {
            return await _look(_stop).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            // A service that cannot be asked does not work, for any reason.
            return exception.Message;
        }
    }
}
