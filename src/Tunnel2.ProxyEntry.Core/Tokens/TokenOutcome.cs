namespace Tunnel2.ProxyEntry.Tokens;

/// <summary>How the making of a token ended.</summary>
internal enum TokenOutcome
{
    /// <summary>It is kept, and in force.</summary>
    Done,

    /// <summary>There is a token of this name.</summary>
    NameTaken,

    /// <summary>As many are kept as may.</summary>
    TooMany,
}
