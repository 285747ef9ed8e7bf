namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Sees the records that aggregation takes, on its thread.</summary>
internal interface IRecordObserver
{
    /// <summary>A record was taken.</summary>
    /// <param name="sequence">Its number in the ring.</param>
    /// <param name="key">Its session's number.</param>
    /// <param name="payload">Its bytes, valid during the call only.</param>
    void OnRecord(long sequence, int key, ReadOnlySpan<byte> payload);
}
