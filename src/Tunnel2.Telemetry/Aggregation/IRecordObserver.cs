namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Looks at the records on their way into aggregation, on its thread.</summary>
internal interface IRecordObserver
{
    /// <summary>A record was taken in.</summary>
    /// <param name="sequence">Its number in the ring.</param>
    /// <param name="key">Its session's number.</param>
    /// <param name="payload">Its bytes, valid during the call only.</param>
    void OnRecord(long sequence, int key, ReadOnlySpan<byte> payload);
}
