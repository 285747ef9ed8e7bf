using Tunnel2.Client.Core.Console;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The agent's way out, which no stream may make long for others. While streams run that were open when it began, the agent hands over: its
/// name is free for a successor, and as long as none has it, requests are served as before. When those streams are over it says goodbye:
/// ProxyEntry opens no more, has new requests wait, and ends every uplink after its last stream, which only the side that opens streams can
/// know. Streams that came meanwhile and take longer than a moment are no reason to have requests wait: the agent serves on, and tries
/// again. Bounded by a grace.
/// </summary>
internal sealed class AgentDrain
{
    private static readonly TimeSpan _poll = TimeSpan.FromMilliseconds(20);

    /// <summary>A server that leaves the end to us is not waited for longer than this once no stream is open.</summary>
    private static readonly TimeSpan _idleLimit = TimeSpan.FromSeconds(2);

    /// <summary>For so long new requests wait for the streams that are left.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(250);

    /// <summary>
    /// This long before the end of the grace nothing is served any more: what is younger than <see cref="_youth"/> gets it to finish, the
    /// rest is cut.
    /// </summary>
    private static readonly TimeSpan _lastPause = TimeSpan.FromSeconds(3);

    /// <summary>A stream that is younger has not had its time yet.</summary>
    private static readonly TimeSpan _youth = TimeSpan.FromSeconds(5);

    private readonly UplinkPool _pool;
    private readonly IAgentEvents _events;
    private readonly TimeProvider _timeProvider;
    private readonly TimeSpan _limit;
    private long _started;

    /// <summary>Makes the drain of a session.</summary>
    /// <param name="pool">Its uplinks.</param>
    /// <param name="events">Who is told.</param>
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

    private TimeSpan Elapsed => _timeProvider.GetElapsedTime(_started);

    private async Task RunAsync()
    {
        _events.Draining();
        _pool.StopDialling();
        _started = _timeProvider.GetTimestamp();
        List<OpenStream>? old = null;
        while (Elapsed < _limit - _lastPause)
        {
            var open = TakeOpen();
            if (open.Count > 0)
            {
                Say(_pool.Serving, SessionEndReason.HandOver, "The agent is about to stop.");
            }

            while (open.Count > 0 && Elapsed < _limit - _lastPause)
            {
                if (old is null && Elapsed >= _limit - _lastPause - _youth)
                {
                    old = TakeOpen();
                }

                await Task.Delay(_poll, _timeProvider).ConfigureAwait(false);
                open.RemoveAll(static stream => stream.IsOver);
            }

            if (open.Count == 0 && await EndsWithinAsync(_pause).ConfigureAwait(false))
            {
                return;
            }
        }

        foreach (var stream in old ?? [])
        {
            stream.Cut();
        }

        await EndsWithinAsync(_lastPause).ConfigureAwait(false);
        End();
    }

    /// <summary>Says goodbye and waits for the server to end every uplink.</summary>
    /// <param name="limit">How long streams may keep it.</param>
    /// <returns>Whether the session is over.</returns>
    private async Task<bool> EndsWithinAsync(TimeSpan limit)
    {
        Say(_pool.Uplinks, SessionEndReason.Shutdown, "The agent is stopping.");
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

    private void End()
    {
        foreach (var uplink in _pool.Uplinks)
        {
            uplink.RefuseNewStreams();
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown, Text: "The agent stopped."));
        }
    }

    private List<OpenStream> TakeOpen()
    {
        var open = new List<OpenStream>();
        foreach (var uplink in _pool.Uplinks)
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

    /// <summary>A stream as it was when somebody looked.</summary>
    private readonly record struct OpenStream(TunnelStream Stream, StreamId Id)
    {
        public bool IsOver => Stream.IsOver(Id);

        public void Cut() => Stream.ResetIf(Id, StreamResetReason.Cancel, StreamResetDetail.GoingAway);
    }
}
