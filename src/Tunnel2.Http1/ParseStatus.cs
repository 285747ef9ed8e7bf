namespace Tunnel2.Http1;

/// <summary>What a call of an incremental head parser came to.</summary>
internal enum ParseStatus : byte
{
    /// <summary>The bytes so far are a valid beginning; call again with the same bytes and more after them.</summary>
    NeedMore,

    /// <summary>The head is complete; <c>consumed</c> bytes belong to it and what follows is the body or the next message.</summary>
    Done,

    /// <summary>The bytes break a rule (see the parser's <c>Error</c>); the connection cannot be read any further.</summary>
    Invalid,
}
