namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>What is known of a token.</summary>
internal enum TokenState
{
    /// <summary>It lets its visitor in.</summary>
    Right,

    /// <summary>It is no token, not of the issuer, not for the audience, not valid yet, or its signature is wrong.</summary>
    Invalid,

    /// <summary>It was right, and its time is over.</summary>
    Expired,

    /// <summary>It cannot be checked now: there are no keys, or too many tokens are checked.</summary>
    Unchecked,
}

/// <summary>The result of a check.</summary>
/// <param name="State">What is known.</param>
/// <param name="User">Whose token it is, as a field's value; null unless it is right.</param>
internal readonly record struct TokenVerdict(TokenState State, byte[]? User = null);
