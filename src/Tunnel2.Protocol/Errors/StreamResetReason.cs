namespace Tunnel2.Protocol.Errors;

/// <summary>Why a stream was reset (16 bits on the wire). Unknown values are treated as <see cref="Internal"/>.</summary>
public enum StreamResetReason : ushort
{
    /// <summary>No error: the sender has finished and does not want the rest of the other direction.</summary>
    None = 0,

    /// <summary>Nothing was done with the request, so it is safe to send it again elsewhere.</summary>
    Refused = 1,

    /// <summary>The visitor, or other code that made the request, has left.</summary>
    Cancel = 2,

    /// <summary>The backend could not be reached.</summary>
    BackendConnect = 3,

    /// <summary>The backend was silent for longer than a limit.</summary>
    BackendTimeout = 4,

    /// <summary>The backend broke HTTP, or ended before its message was complete.</summary>
    BackendProtocol = 5,

    /// <summary>A fault of the sender itself.</summary>
    Internal = 6,

    /// <summary>The visitor broke HTTP in the middle of a body.</summary>
    VisitorProtocol = 7,
}
