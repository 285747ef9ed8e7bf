namespace Tunnel2.Http1;

/// <summary>What a call of <see cref="ChunkedDecoder.Decode"/> came to.</summary>
internal enum ChunkedStatus : byte
{
    /// <summary>All there was to give has been given; call again when more bytes are there.</summary>
    NeedMore,

    /// <summary>A run of body bytes was found; call again with what is after <c>consumed</c>.</summary>
    Data,

    /// <summary>The body and its trailer section are complete.</summary>
    Done,

    /// <summary>The bytes break a rule; the connection cannot be read any further.</summary>
    Invalid,
}
