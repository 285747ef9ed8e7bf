using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Client.Core.Session;

/// <summary>What one uplink looks like at one moment, for deciding how many there should be. Counters begin with the uplink.</summary>
/// <param name="Uplink">Which uplink it is.</param>
/// <param name="IsStalled">Whether bytes are under way and nothing says that they arrive.</param>
/// <param name="IsSending">Whether a send is under way: the path takes no more for now.</param>
/// <param name="OpenStreams">Streams open.</param>
/// <param name="OutstandingShare">Which share of the uplink's window is outstanding, 0 to 1.</param>
/// <param name="RoundTrip">The last measured round trip; zero: never measured.</param>
/// <param name="Retransmitted">Segments sent again.</param>
/// <param name="BytesMoved">Bytes sent and received, frames included.</param>
internal readonly record struct UplinkSample(
    object Uplink, bool IsStalled, bool IsSending, int OpenStreams, double OutstandingShare, TimeSpan RoundTrip, long Retransmitted,
    long BytesMoved)
{
    public static UplinkSample Of(UplinkConnection uplink) => new(
        uplink,
        uplink.IsStalled(uplink.Settings.TimeProvider.GetTimestamp()),
        uplink.Writer.IsSending,
        uplink.OpenStreams,
        (double)uplink.Sending.OutstandingBytes / uplink.Settings.SendUplinkWindow,
        uplink.RoundTrip.Last,
        uplink.RetransmittedSegments,
        uplink.Statistics.BytesSent + uplink.Statistics.BytesReceived);
}
