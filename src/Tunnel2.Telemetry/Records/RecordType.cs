namespace Tunnel2.Telemetry.Records;

/// <summary>What the payload of a ring record is. The values are part of the file and wire format: never renumber.</summary>
internal enum RecordType : ushort
{
    /// <summary>A sequence number that was claimed and given up; carries nothing and is never handed to a reader as a record.</summary>
    Abandoned = 0,

    /// <summary>A <see cref="RequestRecord"/>.</summary>
    Request = 1,
}
