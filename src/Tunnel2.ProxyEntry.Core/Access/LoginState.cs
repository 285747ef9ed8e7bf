namespace Tunnel2.ProxyEntry.Access;

/// <summary>What is known of a request's login without the slow hash.</summary>
internal enum LoginState
{
    /// <summary>There is none, or it cannot be read.</summary>
    Missing,

    /// <summary>It was found right before.</summary>
    Right,

    /// <summary>It was found wrong a short while ago.</summary>
    Wrong,

    /// <summary>The slow hash has to say it.</summary>
    Unknown,
}
