namespace Tunnel2.Http1;

/// <summary>The result of a call of an incremental head parser.</summary>
internal enum ParseStatus : byte
{
    /// <summary>The bytes so far are a valid beginning; call again with the same bytes and more after them.</summary>
    NeedMore,

    /// <summary>
    /// The head is complete: <c>consumed</c> bytes belong to it, and the bytes after them are the body or the next message.
    /// </summary>
    Done,

    /// <summary>The bytes break a rule (see the parser's <c>Error</c>); nothing more can be read from the connection.</summary>
    Invalid,
}
