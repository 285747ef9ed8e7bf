namespace Tunnel2.Http1;

/// <summary>How a <see cref="HeadWriter"/> fares.</summary>
internal enum HeadWriteStatus : byte
{
    /// <summary>Everything has been written.</summary>
    Ok,

    /// <summary>The destination is full: nothing is wrong with the message, write all of it again into more room.</summary>
    DestinationTooSmall,

    /// <summary>A method, target, name, value or reason phrase has bytes that it cannot have; the message must not be sent.</summary>
    InvalidSyntax,
}
