namespace Tunnel2.Client.Core.Http2;

/// <summary>What there is to read of a response.</summary>
internal enum Http2ItemKind
{
    /// <summary>Nothing yet.</summary>
    None,

    /// <summary>A head, interim or final: a header block of the uplink's form.</summary>
    Head,

    /// <summary>Body bytes.</summary>
    Data,

    /// <summary>Trailers: a header block of the uplink's form. They end the response.</summary>
    Trailers,

    /// <summary>The end, in order.</summary>
    End,

    /// <summary>The stream failed: see <see cref="Http2Stream.Failure"/>.</summary>
    Failed,
}

/// <summary>A view of it, valid until it is consumed.</summary>
/// <param name="Kind">What.</param>
/// <param name="Memory">Its bytes.</param>
/// <param name="IsLast">Whether the response ends with it.</param>
internal readonly record struct Http2Item(Http2ItemKind Kind, ReadOnlyMemory<byte> Memory, bool IsLast);
