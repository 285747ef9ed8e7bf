namespace Tunnel2.ProxyEntry.Acme;

/// <summary>A certificate authority refuses, does not answer, or answers nonsense. The message has no secret and fits into a log.</summary>
internal sealed class AcmeException : Exception
{
    /// <param name="message">What happened.</param>
    /// <param name="type">The type of the authority's problem document, or null.</param>
    /// <param name="retryAfter">How long the authority asks to wait, or null.</param>
    /// <param name="isOfServer">Whether the authority as a whole is not usable now, for any name.</param>
    /// <param name="cause">The exception that led to it, or null.</param>
    public AcmeException(
        string message, string? type = null, TimeSpan? retryAfter = null, bool isOfServer = false, Exception? cause = null)
        : base(message, cause)
    {
        Type = type;
        RetryAfter = retryAfter;
        IsOfServer = isOfServer;
    }

    /// <summary>The type of the authority's problem document, or null.</summary>
    public string? Type { get; }

    /// <summary>How long the authority asks to wait, or null.</summary>
    public TimeSpan? RetryAfter { get; }

    /// <summary>Whether the authority as a whole is not usable now, for any name.</summary>
    public bool IsOfServer { get; }
}
