namespace Tunnel2.LoadTests.Exchanges;

/// <summary>The state of an exchange after it was given bytes.</summary>
internal enum ExchangeStatus
{
    /// <summary>More must come.</summary>
    NeedMore,

    /// <summary>There is more to send now.</summary>
    Send,

    /// <summary>Complete and correct.</summary>
    Done,

    /// <summary>It failed, and its connection is of no further use.</summary>
    Failed,
}
