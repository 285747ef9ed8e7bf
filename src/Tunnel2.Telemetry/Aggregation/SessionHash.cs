namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Fibonacci hashing of the session's number: consecutive numbers spread over all partitions.</summary>
internal readonly struct SessionHash : IKeyHash<RequestSample>
{
    public static uint Hash(in RequestSample record) => (uint)record.Key * 2_654_435_769u;
}
