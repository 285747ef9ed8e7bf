using System.Threading.Channels;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Core.Console;

/// <summary>
/// Takes events from any thread without ever waiting and writes them from one task of its own. When the output is slower than the events,
/// request lines are dropped first; what was dropped is counted and said in a line of its own. Thread-safe.
/// </summary>
internal sealed class AgentEventWriter : AgentEventSource, IAsyncDisposable
{
    /// <summary>How many events of one tunnel, or of requests, can wait.</summary>
    public const int Capacity = 1024;

    /// <summary>
    /// How many more can wait for each further tunnel: all tunnels of a file begin, are lost and come back at the same moment, and a
    /// program that waits for <c>ready</c> of each is to get it.
    /// </summary>
    public const int PerTunnel = 8;

    /// <summary>Places that request lines leave free, so that a flood of them cannot push out a change of state.</summary>
    public const int ReservedForState = 64;

    /// <summary>How long <see cref="DisposeAsync"/> waits for an output that does not take lines.</summary>
    public static readonly TimeSpan DrainLimit = TimeSpan.FromSeconds(1);

    // Bounded by Post, because tunnels come and go. A channel for a single reader would not count what waits.
    private readonly Channel<AgentEvent> _queue = Channel.CreateUnbounded<AgentEvent>();
    private readonly IAgentEventFormatter _formatter;
    private readonly TextWriter _output;
    private readonly TimeProvider _time;
    private readonly CancellationTokenSource _giveUp = new();
    private readonly Task _loop;
    private long _dropped;
    private volatile int _capacity = Capacity;

    /// <param name="formatter">Writes an event.</param>
    /// <param name="output">Where to.</param>
    /// <param name="time">The clock.</param>
    /// <param name="wantsRequests">Whether requests are events.</param>
    public AgentEventWriter(IAgentEventFormatter formatter, TextWriter output, TimeProvider time, bool wantsRequests)
        : base(time, wantsRequests)
    {
        _formatter = formatter;
        _output = output;
        _time = time;

        // Always on the pool: output blocks, and an event loop's thread must not.
        _loop = Task.Run(WriteLoopAsync);
    }

    /// <summary>How many events were dropped so far because the output was too slow or is gone.</summary>
    public long Dropped => Interlocked.Read(ref _dropped);

    /// <summary>The events of one of several tunnels.</summary>
    /// <param name="tunnel">Its name.</param>
    /// <param name="observe">
    /// Sees each change of its state before the line; it returns at once and does not throw. Null: no observer.
    /// </param>
    public IAgentEvents For(string tunnel, Action<AgentEvent>? observe = null) => new TunnelEvents(this, tunnel, _time, observe);

    /// <summary>Sets how much can wait, before tunnels begin: the number of those that then run, with those that drain.</summary>
    public void MakeRoomFor(int tunnels) => _capacity = Capacity + (PerTunnel * Math.Max(0, tunnels - 1));

    /// <inheritdoc/>
    /// <remarks>Threads that post at the same moment may pass the limit by one event each.</remarks>
    public override void Post(AgentEvent agentEvent)
    {
        int room = agentEvent is RequestCompletedEvent ? Capacity - ReservedForState : _capacity;
        if (_queue.Reader.Count >= room || !_queue.Writer.TryWrite(agentEvent))
        {
            Interlocked.Increment(ref _dropped);
        }
    }

    /// <summary>Writes what waits, for at most <see cref="DrainLimit"/>. Events that come later are dropped.</summary>
    public async ValueTask DisposeAsync()
    {
        _queue.Writer.TryComplete();
        try
        {
            await _loop.WaitAsync(DrainLimit, _time).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            await _giveUp.CancelAsync().ConfigureAwait(false);
        }

        if (_loop.IsCompleted)
        {
            _giveUp.Dispose();
        }
    }

    private async Task WriteLoopAsync()
    {
        ChannelReader<AgentEvent> reader = _queue.Reader;
        long reported = 0;
        bool isOutputGone = false;
        while (await reader.WaitToReadAsync().ConfigureAwait(false))
        {
            while (reader.TryRead(out AgentEvent? agentEvent))
            {
                if (isOutputGone)
                {
                    Interlocked.Increment(ref _dropped);
                    continue;
                }

                try
                {
                    await _formatter.WriteAsync(agentEvent, _output, _giveUp.Token).ConfigureAwait(false);
                    if (reader.Count > 0)
                    {
                        continue;
                    }

                    long dropped = Dropped;
                    if (dropped > reported)
                    {
                        var note = new LinesDroppedEvent(Now, dropped - reported);
                        await _formatter.WriteAsync(note, _output, _giveUp.Token).ConfigureAwait(false);
                        reported = dropped;
                    }

                    await _output.FlushAsync(_giveUp.Token).ConfigureAwait(false);
                }
                catch (Exception exception) when (exception is IOException or ObjectDisposedException or OperationCanceledException)
                {
                    // The reader of the lines has left (a closed pipe); the tunnel continues without it.
                    isOutputGone = true;
                    Interlocked.Increment(ref _dropped);
                }
                catch (Exception)
                {
                    // An event that cannot be written must not take the others with it.
                    Interlocked.Increment(ref _dropped);
                }
            }
        }
    }
}
