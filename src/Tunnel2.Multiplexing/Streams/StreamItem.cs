namespace Tunnel2.Multiplexing.Streams;

/// <summary>What a stream has to read next.</summary>
internal enum StreamItemKind
{
    /// <summary>A header block.</summary>
    Head,

    /// <summary>Body bytes.</summary>
    Data,

    /// <summary>The peer's direction ended in order.</summary>
    End,

    /// <summary>
    /// The stream was cut short; <see cref="TunnelStream.Failure"/> says why. What had arrived before it was given before it.
    /// </summary>
    Failed,
}

/// <summary>The next thing to read of a stream: a view, valid until it is consumed.</summary>
/// <param name="Kind">What it is.</param>
/// <param name="Memory">The block's or the body's bytes.</param>
/// <param name="IsLast">Whether the peer's direction ends, in order, right after these bytes.</param>
internal readonly record struct StreamItem(StreamItemKind Kind, ReadOnlyMemory<byte> Memory, bool IsLast);
