using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// Sends agents the list of other nodes when it changes while their sessions run: the first change at once, further ones once a second.
/// Of each uplink only the newest list waits. Thread-safe.
/// </summary>
internal sealed class NodeNews
{
    /// <summary>The pause between two lists. An agent takes four times as many.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromSeconds(1);

    private readonly Lock _gate = new();
    private readonly IOtherNodes _others;
    private readonly SessionJoins _sessions;
    private readonly TimeProvider _timeProvider;
    private uint _counter;
    private bool _hasChanged;
    private bool _isSending;

    /// <param name="others">Says that the list has changed.</param>
    /// <param name="sessions">All sessions.</param>
    /// <param name="timeProvider">The clock.</param>
    public NodeNews(IOtherNodes others, SessionJoins sessions, TimeProvider timeProvider)
    {
        _others = others;
        _sessions = sessions;
        _timeProvider = timeProvider;
        others.Announced += OnAnnounced;
    }

    /// <summary>A session is among all sessions now: the list may have changed after its WELCOME was made.</summary>
    /// <param name="session">The session.</param>
    /// <param name="welcomed">What its WELCOME has.</param>
    public void Settle(EntrySession session, NodeAnnouncement? welcomed)
    {
        if (session.HearsNodes && !ReferenceEquals(_others.Announcement, welcomed))
        {
            Send([session]);
        }
    }

    private void OnAnnounced()
    {
        lock (_gate)
        {
            _hasChanged = true;
            if (_isSending)
            {
                return;
            }

            _isSending = true;
        }

        _ = SendAsync();
    }

    /// <summary>Ends when a second has passed without a change. Nothing in it fails: a list is put into the queues of uplinks.</summary>
    private async Task SendAsync()
    {
        while (true)
        {
            lock (_gate)
            {
                if (!_hasChanged)
                {
                    _isSending = false;
                    return;
                }

                _hasChanged = false;
            }

            Send(_sessions.All.Where(static session => session.HearsNodes));
            await Task.Delay(_pause, _timeProvider).ConfigureAwait(false);
        }
    }

    private void Send(IEnumerable<EntrySession> sessions)
    {
        uint counter;
        NodeAnnouncement? announcement;
        lock (_gate)
        {
            // The higher number has the newer list.
            counter = ++_counter;
            announcement = _others.Announcement;
        }

        if (announcement?.ToFrame(counter) is not { } frame)
        {
            return;
        }

        foreach (var session in sessions)
        {
            foreach (var uplink in session.Tunnel.Uplinks)
            {
                uplink.SendNodes(frame, counter);
            }
        }
    }
}
