namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Statistics of one session over one tumbling window.</summary>
/// <param name="Key">The session's number.</param>
/// <param name="StartUnixMicroseconds">Start of the window, a multiple of its length.</param>
/// <param name="Seconds">Length of the window: 1, 10 or 60.</param>
/// <param name="Requests">Requests that ended in it.</param>
/// <param name="Errors">Requests with an error code.</param>
/// <param name="BytesIn">Body bytes from visitors.</param>
/// <param name="BytesOut">Body bytes to visitors.</param>
/// <param name="P50">Median duration, µs, within 1/32.</param>
/// <param name="P95">95th percentile, µs.</param>
/// <param name="P99">99th percentile, µs.</param>
internal readonly record struct WindowResult(
    int Key, long StartUnixMicroseconds, int Seconds, long Requests, long Errors, ulong BytesIn, ulong BytesOut, uint P50, uint P95,
    uint P99);
