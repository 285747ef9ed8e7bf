namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>What a visitor sent too much of: the kind of the frame for which there was no token.</summary>
internal enum Http2Flood
{
    /// <summary>Resets of its own streams (CVE-2023-44487).</summary>
    Reset,

    /// <summary>Frames that make the server reset its streams (CVE-2025-8671).</summary>
    ForcedReset,

    /// <summary>PING, or answers to it.</summary>
    Ping,

    /// <summary>SETTINGS, or answers to it.</summary>
    Settings,

    /// <summary>DATA without a byte of a body.</summary>
    EmptyData,

    /// <summary>CONTINUATION.</summary>
    Continuation,

    /// <summary>WINDOW_UPDATE.</summary>
    WindowUpdate,

    /// <summary>PRIORITY and types that are not known.</summary>
    Other,
}
