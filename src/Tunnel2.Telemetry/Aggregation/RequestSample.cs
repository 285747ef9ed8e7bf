namespace Tunnel2.Telemetry.Aggregation;

/// <summary>The values of a request that aggregation needs: 40 bytes without references.</summary>
/// <param name="EndedUnixMicroseconds">Event time: when the request ended.</param>
/// <param name="Key">The session, as a small dense number.</param>
/// <param name="LatencyMicroseconds">Its whole duration.</param>
/// <param name="BytesIn">Body bytes from the visitor.</param>
/// <param name="BytesOut">Body bytes to the visitor.</param>
/// <param name="ErrorCode">0 for success.</param>
/// <param name="Requests">1, or 0 for the report of an open upgraded connection: its bytes count, but it is not a request.</param>
internal readonly record struct RequestSample(
    long EndedUnixMicroseconds, int Key, uint LatencyMicroseconds, ulong BytesIn, ulong BytesOut, ushort ErrorCode, ushort Requests = 1);
