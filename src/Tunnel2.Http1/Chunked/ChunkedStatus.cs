namespace Tunnel2.Http1;

/// <summary>The result of a call of <see cref="ChunkedDecoder.Decode"/>.</summary>
internal enum ChunkedStatus : byte
{
    /// <summary>All available data was returned; call again with more bytes.</summary>
    NeedMore,

    /// <summary>A run of body bytes was found; call again with the bytes after <c>consumed</c>.</summary>
    Data,

    /// <summary>The body and its trailer section are complete.</summary>
    Done,

    /// <summary>The bytes break a rule; nothing more can be read from the connection.</summary>
    Invalid,
}
