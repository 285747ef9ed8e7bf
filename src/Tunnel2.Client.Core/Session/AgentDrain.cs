using Tunnel2.Client.Core.Events;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// How the agent stops, without a pause for visitors whose requests are short. While streams run that were open at the start of the drain,
/// the agent hands over: its name is free for a successor, and until one has it, the agent serves as before. When those streams are over,
/// the agent says goodbye: ProxyEntry opens no more, has new requests wait, and ends every uplink after its last stream, which only the
/// side that opens streams can know. If streams that came in that time take longer than a moment, no request waits for them: the agent
/// serves again, and tries later. A grace bounds all of it.
/// </summary>
internal sealed class AgentDrain
{
    private const string Text = "The agent is stopping.";

    private static readonly TimeSpan _poll = TimeSpan.FromMilliseconds(20);

    /// <summary>How long a server that does not end the uplinks is waited for when no stream is open any more.</summary>
    private static readonly TimeSpan _idleLimit = TimeSpan.FromSeconds(2);

    /// <summary>How long new requests wait for the streams that are left.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(250);

    /// <summary>
    /// This long before the end of the grace the agent serves nothing new: a stream younger than <see cref="_youth"/> has this time to
    /// finish, an older one is cut.
    /// </summary>
    private static readonly TimeSpan _lastPause = TimeSpan.FromSeconds(3);

    /// <summary>How long a session that is not needed any more waits for streams that take long.</summary>
    private static readonly TimeSpan _longestQuiet = TimeSpan.FromMinutes(10);

    /// <summary>A stream that is younger is not cut yet.</summary>
    private static readonly TimeSpan _youth = TimeSpan.FromSeconds(5);

    private readonly UplinkPool _pool;
    private readonly IAgentEvents _events;
    private readonly TimeProvider _timeProvider;
    private readonly TimeSpan _limit;
    private long _started;

    /// <summary>Makes the drain of a session.</summary>
    /// <param name="pool">Its uplinks.</param>
    /// <param name="events">Gets the report that the drain begins.</param>
    /// <param name="timeProvider">Time.</param>
    /// <param name="limit">The grace.</param>
    public AgentDrain(UplinkPool pool, IAgentEvents events, TimeProvider timeProvider, TimeSpan limit)
    {
        _pool = pool;
        _events = events;
        _timeProvider = timeProvider;
        _limit = limit;
    }

    /// <summary>Begins the drain; returns at once.</summary>
    public void Begin() => _ = RunAsync();

    /// <summary>
    /// Says goodbye to a server whose session is not wanted; returns at once. What is under way is finished, within the grace.
    /// </summary>
    public void Leave()
    {
        _pool.StopDialling();
        _ = LeaveAsync();
    }

    private async Task LeaveAsync()
    {
        if (!await EndsWithinAsync(_limit, "The agent does not want the session.").ConfigureAwait(false))
        {
            End();
        }
    }

    /// <summary>
    /// Waits until no stream is open that takes long, at most for <see cref="_longestQuiet"/>. The session serves on in that time.
    /// </summary>
    /// <param name="pool">Its uplinks.</param>
    /// <param name="over">Ends the wait.</param>
    /// <param name="timeProvider">Time.</param>
    public static async Task WaitForQuietAsync(UplinkPool pool, Task over, TimeProvider timeProvider)
    {
        var started = timeProvider.GetTimestamp();
        while (!over.IsCompleted && timeProvider.GetElapsedTime(started) < _longestQuiet)
        {
            var open = TakeOpen(pool);
            if (open.Count > 0)
            {
                await over.WaitAsync(_pause, timeProvider).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }

            if (open.TrueForAll(static stream => stream.IsOver))
            {
                return;
            }
        }
    }

    private TimeSpan Elapsed => _timeProvider.GetElapsedTime(_started);

    private async Task RunAsync()
    {
        _events.Draining();
        _pool.StopDialling();
        _started = _timeProvider.GetTimestamp();
        List<OpenStream>? old = null;
        while (Elapsed < _limit - _lastPause)
        {
            var open = TakeOpen(_pool);
            if (open.Count > 0)
            {
                Say(_pool.Serving, SessionEndReason.HandOver, "The agent is about to stop.");
            }

            while (open.Count > 0 && Elapsed < _limit - _lastPause)
            {
                if (old is null && Elapsed >= _limit - _lastPause - _youth)
                {
                    old = TakeOpen(_pool);
                }

                await Task.Delay(_poll, _timeProvider).ConfigureAwait(false);
                open.RemoveAll(static stream => stream.IsOver);
            }

            if (open.Count == 0 && await EndsWithinAsync(_pause, Text).ConfigureAwait(false))
            {
                return;
            }
        }

        foreach (var stream in old ?? [])
        {
            stream.Cut();
        }

        await EndsWithinAsync(_lastPause, Text).ConfigureAwait(false);
        End();
    }

    /// <summary>Says goodbye and waits for the server to end every uplink.</summary>
    /// <param name="limit">How long streams may keep it.</param>
    /// <param name="text">Why it goes.</param>
    /// <returns>Whether the session is over.</returns>
    private async Task<bool> EndsWithinAsync(TimeSpan limit, string text)
    {
        Say(_pool.Uplinks, SessionEndReason.Shutdown, text);
        var since = _timeProvider.GetTimestamp();
        var idleSince = since;
        while (_pool.Uplinks is { Count: > 0 } uplinks)
        {
            var now = _timeProvider.GetTimestamp();
            if (uplinks.Any(static uplink => uplink.OpenStreams > 0))
            {
                idleSince = now;
                if (_timeProvider.GetElapsedTime(since, now) >= limit)
                {
                    return false;
                }
            }
            else if (_timeProvider.GetElapsedTime(idleSince, now) >= _idleLimit)
            {
                End();
                return true;
            }

            await Task.Delay(_poll, _timeProvider).ConfigureAwait(false);
        }

        return true;
    }

    /// <summary>Ends the session at once, with what is under way.</summary>
    public void End()
    {
        foreach (var uplink in _pool.Uplinks)
        {
            uplink.RefuseNewStreams();
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown, Text: "The agent stopped."));
        }
    }

    private static List<OpenStream> TakeOpen(UplinkPool pool)
    {
        var open = new List<OpenStream>();
        foreach (var uplink in pool.Uplinks)
        {
            foreach (var stream in uplink.Streams.Table.Snapshot())
            {
                open.Add(new OpenStream(stream, stream.Id));
            }
        }

        return open;
    }

    private static void Say(IEnumerable<UplinkConnection> uplinks, SessionEndReason reason, string text)
    {
        foreach (var uplink in uplinks)
        {
            uplink.SendGoAwayNotice(reason, text);
        }
    }

    /// <summary>A stream that was open at one moment.</summary>
    private readonly record struct OpenStream(TunnelStream Stream, StreamId Id)
    {
        public bool IsOver => Stream.IsOver(Id);

        public void Cut() => Stream.ResetIf(Id, StreamResetReason.Cancel, StreamResetDetail.GoingAway);
    }
}
