namespace Tunnel2.Http2.Frames;

/// <summary>The settings that this client knows (RFC 9113 section 6.5.2, RFC 8441 section 3). Others are ignored.</summary>
internal enum Http2SettingId : ushort
{
    /// <summary>Bytes of the table that the peer's decoder keeps.</summary>
    HeaderTableSize = 1,

    /// <summary>Whether responses may be pushed: 0 or 1.</summary>
    EnablePush = 2,

    /// <summary>How many streams the sender of the setting takes at once.</summary>
    MaxConcurrentStreams = 3,

    /// <summary>The window of a new stream.</summary>
    InitialWindowSize = 4,

    /// <summary>The largest payload of a frame.</summary>
    MaxFrameSize = 5,

    /// <summary>How many bytes of fields the sender of the setting takes; advice only.</summary>
    MaxHeaderListSize = 6,

    /// <summary>Whether extended CONNECT is understood: 0 or 1.</summary>
    EnableConnectProtocol = 8,
}
