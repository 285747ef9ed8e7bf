using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Session;

/// <summary>The words for a session that ended unasked.</summary>
internal static class SessionEndWords
{
    public static string For(UplinkEnd end) => end.Reason switch
    {
        SessionEndReason.PeerClosed => "The server closed the connection.",
        SessionEndReason.PeerSilent => "The server has been silent for too long: the network in between, or the server, is gone.",
        SessionEndReason.TransportFailed => $"The connection failed{Tail(end)}.",
        SessionEndReason.WriteStalled =>
            "Nothing could be sent to the server for too long: the network in between, or the server, is stuck.",
        SessionEndReason.ProtocolError when end.ByPeer =>
            $"The server found an error in what this agent sent ({end.Error}{Tail(end)}). Are both of the same version?",
        SessionEndReason.ProtocolError => $"The server broke the protocol ({end.Error}). Are both of the same version?",
        SessionEndReason.ControlQueueOverflow => "The server did not read fast enough.",
        _ => $"{(end.ByPeer ? "The server ended the session" : "The session ended")} ({end.Reason}{Tail(end)}).",
    };

    private static string Tail(UplinkEnd end) => end.Text.Length == 0 ? "" : $": {end.Text.TrimEnd('.')}";
}
