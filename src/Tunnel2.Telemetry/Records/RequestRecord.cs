namespace Tunnel2.Telemetry.Records;

/// <summary>
/// One finished request, or one second of an upgraded connection (<see cref="RequestFlags.Interim"/>).
/// A view: the two spans refer to the buffer from which it was decoded, or to the caller's memory while it is encoded.
/// Layout: <see cref="RequestRecordCodec"/>.
/// </summary>
internal readonly ref struct RequestRecord
{
    /// <summary>The session's public name, ASCII, 1 to 50 bytes.</summary>
    internal ReadOnlySpan<byte> SessionName { get; init; }

    /// <summary>The request target as the visitor sent it (RFC 9112 section 3.2), cut to the available length.</summary>
    internal ReadOnlySpan<byte> Target { get; init; }

    /// <summary>When the request line arrived: microseconds since 1970-01-01 UTC.</summary>
    internal long StartedUnixMicroseconds { get; init; }

    /// <summary>From the request's arrival until its head was given to an uplink, µs.</summary>
    internal uint QueueMicroseconds { get; init; }

    /// <summary>From the request's arrival until the response head arrived, µs; 0 when none arrived.</summary>
    internal uint FirstByteMicroseconds { get; init; }

    /// <summary>From the response head to the response's last byte, µs.</summary>
    internal uint BodyMicroseconds { get; init; }

    /// <summary>From the request's arrival to its end of any kind, µs.</summary>
    internal uint TotalMicroseconds { get; init; }

    /// <summary>Body bytes from the visitor.</summary>
    internal ulong BytesIn { get; init; }

    /// <summary>Body bytes to the visitor.</summary>
    internal ulong BytesOut { get; init; }

    /// <summary>The id of the session that served it: its first eight bytes.</summary>
    internal ulong SessionId { get; init; }

    /// <summary>Slot and generation of the stream on its uplink.</summary>
    internal uint StreamId { get; init; }

    /// <summary>The uplink's number within the session.</summary>
    internal ushort UplinkId { get; init; }

    /// <summary>The status sent to the visitor; 0 when none was sent.</summary>
    internal ushort Status { get; init; }

    /// <summary>0 for success, otherwise the forwarder's error code.</summary>
    internal ushort ErrorCode { get; init; }

    /// <summary>The other node of the cluster at which it failed, ASCII, at most 32 bytes; empty: none.</summary>
    internal ReadOnlySpan<byte> FailedAt { get; init; }

    internal RequestMethod Method { get; init; }

    internal RequestFlags Flags { get; init; }
}
