using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>The two that look at single records. For the feed's thread alone.</summary>
internal sealed class RecordObservers(RequestFeed sessions, RequestBatches all) : IRecordObserver
{
    /// <inheritdoc/>
    public void OnRecord(long sequence, int key, ReadOnlySpan<byte> payload)
    {
        sessions.OnRecord(sequence, key, payload);
        all.OnRecord(sequence, key, payload);
    }
}
