using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Reloading;

/// <summary>
/// The tunnels that run in a process. They come and go by themselves: one that is stopped drains, and none waits for another. Thread-safe.
/// </summary>
internal sealed class TunnelSet
{
    private readonly Lock _gate = new();
    private readonly Dictionary<string, Tunnel> _tunnels = [];
    private readonly Func<AgentOptions, CancellationToken, Task<int>> _run;
    private readonly CancellationToken _stop;
    private readonly TaskCompletionSource<int> _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _running;

    /// <param name="run">Runs one tunnel until its token is cancelled, or until it fails; returns its exit code and does not throw.</param>
    /// <param name="stop">Stops all of them.</param>
    public TunnelSet(Func<AgentOptions, CancellationToken, Task<int>> run, CancellationToken stop)
    {
        _run = run;
        _stop = stop;
    }

    /// <summary>
    /// Ends when no tunnel runs any more, those that drain included, with the highest exit code of those that were not stopped.
    /// </summary>
    public Task<int> Ended => _ended.Task;

    /// <summary>How many run, those that drain included.</summary>
    public int Running
    {
        get
        {
            lock (_gate)
            {
                return _running;
            }
        }
    }

    /// <summary>The options of a tunnel that has not been stopped; null: there is none of that name.</summary>
    public AgentOptions? Find(string name)
    {
        lock (_gate)
        {
            return _tunnels.GetValueOrDefault(name)?.Options;
        }
    }

    /// <summary>Stops some tunnels and starts others, in one step: the set never looks empty between the two.</summary>
    /// <param name="stopped">The names of those that drain.</param>
    /// <param name="started">Those that begin; also under a name that drains, after that one has begun to drain.</param>
    public void Change(IReadOnlyCollection<string> stopped, IReadOnlyCollection<AgentOptions> started)
    {
        List<Tunnel> old = [];
        Tunnel[] added = [.. started.Select(options => new Tunnel(options, CancellationTokenSource.CreateLinkedTokenSource(_stop)))];
        lock (_gate)
        {
            foreach (string name in stopped)
            {
                if (_tunnels.Remove(name, out Tunnel? tunnel))
                {
                    old.Add(tunnel);
                }
            }

            foreach (Tunnel tunnel in added)
            {
                if (_tunnels.Remove(tunnel.Options.Name, out Tunnel? same))
                {
                    old.Add(same);
                }

                _tunnels.Add(tunnel.Options.Name, tunnel);
            }

            _running += added.Length;
        }

        var leaving = old.ToDictionary(static tunnel => tunnel.Options.Name, static tunnel => tunnel.CancelAsync());
        foreach (Tunnel tunnel in added)
        {
            _ = RunAsync(tunnel, leaving.GetValueOrDefault(tunnel.Options.Name, Task.CompletedTask));
        }
    }

    /// <summary>Runs one to its end; the last one ends the set.</summary>
    private async Task RunAsync(Tunnel tunnel, Task leaving)
    {
        // The one before says goodbye first: a server takes a further session of the same process for one in the place of a lost
        // connection, and would cut what that connection carries.
        await leaving.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        tunnel.ExitCode = await _run(tunnel.Options, tunnel.Token);
        await tunnel.DisposeAsync();
        lock (_gate)
        {
            if (--_running > 0)
            {
                return;
            }

            _ended.TrySetResult(_tunnels.Count == 0 ? 0 : _tunnels.Values.Max(static one => one.ExitCode));
        }
    }

    private sealed class Tunnel(AgentOptions options, CancellationTokenSource stop) : IAsyncDisposable
    {
        private readonly Lock _gate = new();
        private Task _cancelling = Task.CompletedTask;
        private bool _isOver;

        public AgentOptions Options { get; } = options;

        public CancellationToken Token { get; } = stop.Token;

        public int ExitCode { get; set; }

        /// <summary>Ends when what reacts to it at once has done so.</summary>
        public Task CancelAsync()
        {
            lock (_gate)
            {
                if (!_isOver)
                {
                    // Not on this thread: what reacts to it may take its time.
                    _cancelling = stop.CancelAsync();
                }

                return _cancelling;
            }
        }

        public async ValueTask DisposeAsync()
        {
            Task cancelling;
            lock (_gate)
            {
                _isOver = true;
                cancelling = _cancelling;
            }

            await cancelling.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            stop.Dispose();
        }
    }
}
