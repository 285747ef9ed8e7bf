namespace Tunnel2.ProxyEntry.Policies;

/// <summary>How the setting of a policy ended.</summary>
internal enum PolicyChange
{
    /// <summary>It is kept, and in force.</summary>
    Set,

    /// <summary>The same one was in force already.</summary>
    Same,

    /// <summary>As many are kept as may.</summary>
    TooMany,
}
