using Microsoft.Extensions.Logging;

namespace Tunnel2.Architecture.Tests.Logging;

/// <summary>Two log messages, with the id in either place, by which <see cref="LogEventTests"/> checks that it can see any.</summary>
internal static partial class LogEventProbe
{
    [LoggerMessage(9998, LogLevel.Debug, "Positional")]
    public static partial void Positional(ILogger logger);

    [LoggerMessage(EventId = 9999, Level = LogLevel.Debug, Message = "Named")]
    public static partial void Named(ILogger logger);
}
