using Tunnel2.Protocol.Errors;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Ends a session whose name already leads to a successor, at this node or another one.</summary>
internal static class SessionTakeover
{
    /// <summary>What the older agent is told.</summary>
    public const string Text = "The same agent registered the name again.";

    /// <summary>
    /// If both sessions are of one process of the agent, the older connection is already lost for it. Otherwise the older process may still
    /// be answering requests, and finishes them.
    /// </summary>
    public static void Supersede(EntrySession older, bool isOfOneProcess)
    {
        older.MarkLeaving();
        if (isOfOneProcess)
        {
            older.Tunnel.End(SessionEndReason.Superseded, Text);
            return;
        }

        foreach (var uplink in older.Tunnel.Uplinks)
        {
            uplink.Drain(SessionEndReason.Superseded, Text);
        }
    }
}
