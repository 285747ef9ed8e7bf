using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Core.Reconnect;

/// <summary>
/// Holds a session for as long as the agent runs: connects, waits for the end, decides by its reason whether to try again, and when.
/// Reports Connecting, ConnectionEnded, Reconnecting and Stopped; the session itself reports the rest.
/// </summary>
/// <remarks>
/// | reason | what follows |
/// |---|---|
/// | ServerUnreachable | exit code 4 with <c>--exit-on-failure</c>, else a delay and another attempt |
/// | RejectedForNow, GoingAway | the server's retry-after and a delay, then another attempt |
/// | Lost | a delay and another attempt |
/// | RejectedPermanently, Superseded | exit code 3 |
/// | Stopped | exit code 0 |
/// The delegate bounds how long an attempt takes; the delays count from its end.
/// </remarks>
internal sealed class ReconnectLoop
{
    private readonly AgentOptions _options;
    private readonly Func<CancellationToken, Task<ConnectionEnd>> _connect;
    private readonly IAgentEvents _events;
    private readonly FullJitterBackoff _backoff;
    private readonly TimeProvider _time;
    private readonly IOtherSessions? _others;

    /// <summary>Makes a loop that has not started.</summary>
    /// <param name="options">Read for the server and <see cref="AgentOptions.ExitOnFailure"/>.</param>
    /// <param name="connect">
    /// Holds one session: connects, serves and returns why it ended. Its token is the loop's: when it is cancelled the delegate drains
    /// gracefully and returns. Ordinary failures are values; an exception counts as a lost connection, because an agent that runs
    /// unattended must outlive a fault in one session.
    /// </param>
    /// <param name="events">Gets a report of every change.</param>
    /// <param name="backoff">Chooses the delays.</param>
    /// <param name="time">The clock the delays are measured with.</param>
    /// <param name="others">The other sessions of the agent; null: there are never any.</param>
    public ReconnectLoop(
        AgentOptions options,
        Func<CancellationToken, Task<ConnectionEnd>> connect,
        IAgentEvents events,
        FullJitterBackoff backoff,
        TimeProvider time,
        IOtherSessions? others = null)
    {
        _others = others;
        _options = options;
        _connect = connect;
        _events = events;
        _backoff = backoff;
        _time = time;
    }

    /// <summary>Runs until <paramref name="stop"/> is cancelled or an end says that there is no use in trying again.</summary>
    /// <returns>One of <see cref="AgentExitCode"/>.</returns>
    public async Task<int> RunAsync(CancellationToken stop)
    {
        while (!stop.IsCancellationRequested)
        {
            _events.Connecting(_options.ServerOn(_options.Uplink));
            long start = _time.GetTimestamp();
            ConnectionEnd end;
            try
            {
                end = await _connect(stop).ConfigureAwait(false);
            }
            catch (OperationCanceledException) when (stop.IsCancellationRequested)
            {
                break;
            }
            catch (Exception exception)
            {
                end = ConnectionEnd.Lost($"Internal error: {exception.GetType().Name}: {exception.Message}", _time.GetElapsedTime(start));
            }

            if (end.Reason == ConnectionEndReason.Stopped || stop.IsCancellationRequested)
            {
                break;
            }

            _events.ConnectionEnded(end);
            if (ExitCodeFor(end.Reason) is { } exitCode)
            {
                return exitCode;
            }

            try
            {
                await WaitAsync(end, stop).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                break;
            }
        }

        _events.Stopped();
        return AgentExitCode.Stopped;
    }

    private async Task WaitAsync(ConnectionEnd end, CancellationToken stop)
    {
        var isServed = _others?.Exist == true;
        TimeSpan delay = _backoff.NextDelay(end.UpTime, end.RetryAfter, end.Reason == ConnectionEndReason.GoingAway, isServed);
        _events.Reconnecting(delay);
        var start = _time.GetTimestamp();
        var waiting = Task.Delay(delay, _time, stop);
        if (isServed && end.RetryAfter is null && await _others!.WhenNoneAsync(waiting).ConfigureAwait(false))
        {
            // The other session is gone too: visitors wait now.
            TimeSpan left = delay - _time.GetElapsedTime(start);
            TimeSpan soon = _backoff.NextDelay(TimeSpan.Zero);
            waiting = soon < left ? Task.Delay(soon, _time, stop) : waiting;
        }

        await waiting.ConfigureAwait(false);
    }

    private int? ExitCodeFor(ConnectionEndReason reason) => reason switch
    {
        ConnectionEndReason.RejectedPermanently or ConnectionEndReason.Superseded => AgentExitCode.Rejected,
        ConnectionEndReason.ServerUnreachable when _options.ExitOnFailure => AgentExitCode.ServerUnreachable,
        _ => null,
    };
}
