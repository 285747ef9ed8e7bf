namespace Tunnel2.Telemetry.Records;

/// <summary>Why the bytes of a record could or could not be read; also the reason of a dead letter.</summary>
internal enum RecordDecodeStatus
{
    Ok = 0,

    /// <summary>The ring record is of another type.</summary>
    WrongType,

    /// <summary>Fewer bytes than the fixed part.</summary>
    TooShort,

    /// <summary>The layout version is not one that this build reads.</summary>
    UnknownVersion,

    /// <summary>The lengths inside the record do not add up to the record's length.</summary>
    BadLengths,

    /// <summary>The record names no session.</summary>
    NoSession,

    /// <summary>The start lies outside the years 2000 to 2200, so no window can hold it.</summary>
    BadTimestamp,
}
