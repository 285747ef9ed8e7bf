using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Commands;

/// <summary>Opens a session with a server and leaves it, to see whether address, certificate and token are right.</summary>
internal static class ServerTrial
{
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(60);

    /// <summary>Tries once.</summary>
    /// <returns>No end and the public URLs, or why there was no session.</returns>
    /// <exception cref="IOException">The event loop cannot be started.</exception>
    public static async Task<(ConnectionEnd? End, IReadOnlyList<string> Urls)> RunAsync(
        CommandConsole console, AgentOptions options, CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(_patience, console.Time);
        using var over = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        Task leaving = Task.CompletedTask;
        var seen = new FirstOutcome(() => leaving = over.CancelAsync());
        AgentOptions trial = options with
        {
            ExitOnFailure = true,
            WatchesBackend = false,
            Uplinks = UplinkPolicy.Fixed(1),
            Inspects = false,
        };
        try
        {
            await console.CreateRunner(1).RunAsync(trial, seen, over.Token);
        }
        catch (OperationCanceledException) when (over.IsCancellationRequested)
        {
            // It was asked to leave.
        }

        await leaving;
        return seen.Outcome is { } outcome
            ? (outcome.End, outcome.Urls)
            : (
                ConnectionEnd.Unreachable(ConnectFailure.Create(
                    options.ServerOn(options.Uplink), options.Uplink, ConnectFailureReason.TimedOut)),
                []);
    }

    /// <summary>Keeps the first thing that says how it went.</summary>
    private sealed class FirstOutcome(Action leave) : IAgentEvents
    {
        private Result? _outcome;

        public bool WantsRequests => false;

        /// <summary>Null: nothing has happened.</summary>
        public Result? Outcome => Volatile.Read(ref _outcome);

        public void Connecting(ServerEndpoint server)
        {
        }

        public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream) => Note(new Result(null, publicUrls));

        public void ConnectionEnded(ConnectionEnd end) => Note(new Result(end, []));

        public void Reconnecting(TimeSpan delay)
        {
        }

        public void Draining()
        {
        }

        public void Stopped()
        {
        }

        public void RequestCompleted(RequestSummary request)
        {
        }

        private void Note(Result result)
        {
            if (Interlocked.CompareExchange(ref _outcome, result, null) is null)
            {
                leave();
            }
        }

        internal sealed record Result(ConnectionEnd? End, IReadOnlyList<string> Urls);
    }
}
