namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// Passes the server's lines on to the loggers of the program that hosts it, whose filters decide. Thread-safe; owns nothing.
/// </summary>
internal sealed class HostLoggerProvider(ILoggerFactory host) : ILoggerProvider
{
    /// <inheritdoc/>
    public ILogger CreateLogger(string categoryName) => host.CreateLogger(categoryName);

    /// <summary>The loggers are the host's.</summary>
    public void Dispose()
    {
    }
}
