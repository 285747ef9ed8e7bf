namespace Tunnel2.Telemetry.Records;

/// <summary>Flags of a <see cref="RequestRecord"/>. Part of the record's layout: never renumber.</summary>
[Flags]
internal enum RequestFlags : byte
{
    None = 0,

    /// <summary>The target did not fit and was cut.</summary>
    TargetTruncated = 1,

    /// <summary>The exchange was upgraded (101 or an extended CONNECT).</summary>
    Upgraded = 2,

    /// <summary>The exchange continues: a report of the last second of an upgraded connection, not its end.</summary>
    Interim = 4,
}
