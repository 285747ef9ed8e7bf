namespace Tunnel2.Telemetry.Records;

/// <summary>The kind of payload in a ring record. The values are part of the file and wire format: never renumber.</summary>
internal enum RecordType : ushort
{
    /// <summary>A sequence number that was claimed and given up; it has no payload, and readers never get it as a record.</summary>
    Abandoned = 0,

    /// <summary>A <see cref="RequestRecord"/>.</summary>
    Request = 1,
}
