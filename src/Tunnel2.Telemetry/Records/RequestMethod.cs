namespace Tunnel2.Telemetry.Records;

/// <summary>The request method (RFC 9110 section 9, RFC 5789) as one byte. Part of the record's layout: never renumber.</summary>
internal enum RequestMethod : byte
{
    /// <summary>Any method that has no number.</summary>
    Other = 0,
    Get = 1,
    Head = 2,
    Post = 3,
    Put = 4,
    Delete = 5,
    Connect = 6,
    Options = 7,
    Trace = 8,
    Patch = 9,
}
