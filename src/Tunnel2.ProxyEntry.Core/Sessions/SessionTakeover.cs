using Tunnel2.Protocol.Errors;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Ends sessions in order, above all those whose name already leads to a successor, at this node or another one.</summary>
internal static class SessionTakeover
{
    /// <summary>The reason that the older agent gets.</summary>
    public const string Text = "The same agent registered the name again.";

    /// <summary>
    /// If both sessions are of one process of the agent, which does not say otherwise, the older connection is already lost for it. In all
    /// other cases, such as an older one that hands over, it may still be answering requests, and finishes them.
    /// </summary>
    public static void Supersede(EntrySession older, bool isLost)
    {
        if (isLost)
        {
            older.MarkLeaving();
            older.Tunnel.End(SessionEndReason.Superseded, Text);
            return;
        }

        Drain(older, SessionEndReason.Superseded, Text);
    }

    /// <summary>Lets a session finish what is under way: it gets nothing new, and ends with the last of it.</summary>
    public static void Drain(EntrySession session, SessionEndReason reason, string text)
    {
        // Before its uplinks: one that joins in between sees it. Streams without an end of their own, such as WebSockets, end now.
        session.MarkLeaving();
        foreach (var uplink in session.Tunnel.Uplinks)
        {
            uplink.Drain(reason, text);
        }
    }
}
