namespace Tunnel2.Http1;

/// <summary>What becomes of a field that somebody wants to have forwarded.</summary>
internal enum FieldRule : byte
{
    /// <summary>It goes on as it is.</summary>
    Pass,

    /// <summary>It ends here, and the message goes on.</summary>
    Drop,

    /// <summary>The message must not go on: it could be read in two ways.</summary>
    Refuse,
}
