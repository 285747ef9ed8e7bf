namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>Passes the server's log lines to the loggers of the hosting program, whose filters decide. Thread-safe; owns nothing.</summary>
internal sealed class HostLoggerProvider(ILoggerFactory host) : ILoggerProvider
{
    /// <inheritdoc/>
    public ILogger CreateLogger(string categoryName) => host.CreateLogger(categoryName);

    /// <summary>The loggers belong to the host.</summary>
    public void Dispose()
    {
    }
}
