namespace Tunnel2.Telemetry.EventRing;

/// <summary>Why a file cannot be used as an event ring.</summary>
internal enum EventRingOpenError
{
    None = 0,

    /// <summary>There is no such file.</summary>
    NotFound,

    /// <summary>The file may not be opened, or not for writing.</summary>
    AccessDenied,

    /// <summary>The file is shorter than the header page.</summary>
    TooShort,

    /// <summary>The file does not begin with the ring's magic number.</summary>
    BadMagic,

    /// <summary>Another version of the format.</summary>
    UnsupportedVersion,

    /// <summary>The checksum of the fixed header fields does not match.</summary>
    CorruptHeader,

    /// <summary>The header's fields are outside their ranges.</summary>
    BadGeometry,

    /// <summary>The file is shorter than the geometry in its header needs.</summary>
    Truncated,

    /// <summary>Records are little-endian and the processor is not.</summary>
    UnsupportedPlatform,
}
