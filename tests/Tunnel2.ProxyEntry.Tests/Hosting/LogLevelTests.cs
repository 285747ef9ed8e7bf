using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Console;
using Microsoft.Extensions.Options;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.ProxyEntry.Tests.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class LogLevelTests
{
    [Theory]
    [InlineData("LogLevel=", LogLevel.Information, LogLevel.Warning)]
    [InlineData("LogLevel=debug", LogLevel.Debug, LogLevel.Warning)]
    [InlineData("LogLevel=Warning", LogLevel.Warning, LogLevel.Warning)]
    [InlineData("LogLevel=error", LogLevel.Error, LogLevel.Error)]
    [InlineData("LogLevel=none", LogLevel.None, LogLevel.None)]
    public void Lines_begin_at_the_level_that_was_set(string setting, LogLevel own, LogLevel frameworks)
    {
        var level = SettingsFixture.LoadValid(setting).LogLevel;
        using var factory = LoggerFactory.Create(logging => ProxyEntryCommand.ConfigureLogging(logging, level));
        Assert.Equal(own, Lowest(factory.CreateLogger("Tunnel2.ProxyEntry.Forwarding.Forwarder")));
        Assert.Equal(frameworks, Lowest(factory.CreateLogger("Microsoft.AspNetCore.Server.Kestrel")));
    }

    [Theory]
    [InlineData("loud")]
    [InlineData("2")]
    [InlineData("debug,error")]
    public void Another_word_is_a_mistake(string level) => Assert.Contains(
        "is not a level; use trace, debug, information",
        Assert.Single(SettingsFixture.Load("LogLevel=" + level).Errors).Message,
        StringComparison.Ordinal);

    private static LogLevel Lowest(ILogger logger) =>
        Enum.GetValues<LogLevel>().Order().First(level => level == LogLevel.None || logger.IsEnabled(level));

    [Theory]
    [InlineData("dumb", LoggerColorBehavior.Disabled)]
    [InlineData("xterm", LoggerColorBehavior.Default)]
    [InlineData(null, LoggerColorBehavior.Default)]
    public void A_terminal_that_knows_no_sequences_gets_none(string? terminal, LoggerColorBehavior behavior)
    {
        var services = new ServiceCollection();
        services.AddLogging(logging => ProxyEntryCommand.ConfigureLogging(logging, LogLevel.Information, terminal));
        using var provider = services.BuildServiceProvider();
        Assert.Equal(behavior, provider.GetRequiredService<IOptionsMonitor<SimpleConsoleFormatterOptions>>().CurrentValue.ColorBehavior);
    }
}
