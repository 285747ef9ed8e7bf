namespace Tunnel2.Http1;

/// <summary>The state of a <see cref="HeadWriter"/>.</summary>
internal enum HeadWriteStatus : byte
{
    /// <summary>Everything has been written.</summary>
    Ok,

    /// <summary>The destination is full. The message is valid: write all of it again into a larger one.</summary>
    DestinationTooSmall,

    /// <summary>A method, target, name, value or reason phrase has bytes that it cannot have; the message must not be sent.</summary>
    InvalidSyntax,
}
