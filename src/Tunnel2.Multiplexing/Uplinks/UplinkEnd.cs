using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>Why an uplink ended: the first cause. What followed from it does not count.</summary>
/// <param name="Reason">The cause.</param>
/// <param name="Error">How the peer broke the protocol, where it did.</param>
/// <param name="ByPeer">Whether the peer ended it, by GOAWAY.</param>
/// <param name="Text">Words for a log line; from the peer, untrusted, where <paramref name="ByPeer"/>.</param>
internal sealed record UplinkEnd(SessionEndReason Reason, ProtocolError Error = ProtocolError.None, bool ByPeer = false, string Text = "")
{
    /// <summary>Whether the two ends no longer agree about the session, so that no uplink of it may continue.</summary>
    public bool EndsSession => Reason is SessionEndReason.ProtocolError or SessionEndReason.ControlQueueOverflow;

    /// <inheritdoc/>
    public override string ToString() =>
        (Error == ProtocolError.None ? Reason.ToString() : $"{Reason} ({Error})")
            + (ByPeer ? ", said by the peer" : "") + (Text.Length == 0 ? "" : $": {Text}");
}
