namespace Tunnel2.Telemetry.Records;

/// <summary>Whether the bytes of a record could be read, or why not; also the reason of a dead letter.</summary>
internal enum RecordDecodeStatus
{
    Ok = 0,

    /// <summary>The ring record is of another type.</summary>
    WrongType,

    /// <summary>Fewer bytes than the fixed part.</summary>
    TooShort,

    /// <summary>The layout version is not one that this build reads.</summary>
    UnknownVersion,

    /// <summary>The lengths inside the record do not match the record's length.</summary>
    BadLengths,

    /// <summary>The record names no session.</summary>
    NoSession,

    /// <summary>The start is outside the years 2000 to 2200, so no window can have it.</summary>
    BadTimestamp,
}
