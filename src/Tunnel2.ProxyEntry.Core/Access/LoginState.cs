namespace Tunnel2.ProxyEntry.Access;

/// <summary>What is known of a request's login without the slow hash.</summary>
internal enum LoginState
{
    /// <summary>There is none, or it cannot be read.</summary>
    Missing,

    /// <summary>It was found right before, at the same address.</summary>
    Right,

    /// <summary>It was found wrong a short while ago.</summary>
    Wrong,

    /// <summary>It takes an attempt of its address to say it, and the slow hash where it was not found right elsewhere.</summary>
    Unknown,
}
