using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>Reports to uplinks what their path's round trip is, as an answered PING would.</summary>
internal static class RoundTrips
{
    public static void LearnRoundTrip(this UplinkConnection uplink, int milliseconds = 50)
    {
        var time = (ManualTimeProvider)uplink.Settings.TimeProvider;
        while (uplink.RoundTrip.IsStarting)
        {
            var opaque = uplink.RoundTrip.Begin(time.GetTimestamp());
            time.Advance(TimeSpan.FromMilliseconds(milliseconds));
            uplink.RoundTrip.OnAnswer(opaque, time.GetTimestamp());
        }
    }
}
