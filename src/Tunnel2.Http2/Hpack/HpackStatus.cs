namespace Tunnel2.Http2.Hpack;

/// <summary>What was read of a header block.</summary>
internal enum HpackStatus
{
    /// <summary>A field.</summary>
    Field,

    /// <summary>The block has ended.</summary>
    End,

    /// <summary>The block is broken: the connection ends with COMPRESSION_ERROR.</summary>
    Broken,
}
