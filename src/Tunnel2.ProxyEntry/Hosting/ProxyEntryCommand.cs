using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging.Console;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>The program behind <c>tunnel2-entry</c>: reads the settings, runs until a signal, gives the exit code.</summary>
internal static class ProxyEntryCommand
{
    /// <summary>A listener could not be bound, its holder has ended, or another fault at the start.</summary>
    private const int ExitStartFailed = 1;

    public static async Task<int> RunAsync(string[] args)
    {
        if (EntryHelp.Asked(args) is { } help)
        {
            await Console.Out.WriteAsync(help).ConfigureAwait(false);
            return 0;
        }

        if (TokenCommand.IsMeant(args))
        {
            return TokenCommand.Run(args, Console.Out, Console.Error);
        }

        if (CertificateCommand.IsMeant(args))
        {
            return CertificateCommand.Run(args, Console.Out, Console.Error);
        }

        if (HealthCommand.IsMeant(args))
        {
            return await HealthCommand.RunAsync(args, Console.Out, Console.Error).ConfigureAwait(false);
        }

        if (FindStray(args) is { } stray)
        {
            await Console.Error.WriteLineAsync(
                stray == "help"
                    ? "tunnel2-entry: 'help' comes first, and one of the commands token, certificate, health behind it"
                    : $"tunnel2-entry: '{PlainText.Clean(stray, maxLength: 100)}' is neither a command nor a setting; settings are "
                        + $"given as --Tunnel2:Key=value").ConfigureAwait(false);
            await Console.Error.WriteLineAsync(EntryHelp.Usage).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        var files = OpenFiles.Limit();
        if (files < DescriptorBudget.LeastFiles)
        {
            await Console.Error.WriteLineAsync(
                $"tunnel2-entry: this process may have only {files} files open, and more than {DescriptorBudget.LeastFiles} are needed: "
                    + $"raise the limit (ulimit -n, LimitNOFILE)").ConfigureAwait(false);
            return ExitStartFailed;
        }

        // Before anything that takes time: the first process of a container does not get signals that it has no handler for.
        var stop = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, OnSignal);
        using var terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, OnSignal);
        var errors = new List<SettingsError>();
        using var inherited = InheritedSockets.Read(Environment.GetEnvironmentVariable, Environment.ProcessId, errors);
        var source = SettingsSource.OfProcess(args, inherited.Settings);
        IConfigurationRoot configuration;
        ListenerHolder? given = null;
        try
        {
            configuration = source.Read();
            if (configuration[$"{SettingKeys.Section}:{SettingKeys.ListenersFrom}"]?.Trim() is { Length: > 0 } path)
            {
                var connecting = ListenerHolder.ConnectAsync(path, ListenerHolder.Patience, TimeProvider.System, Wait);
                if (await Task.WhenAny(connecting, stop.Task).ConfigureAwait(false) == stop.Task)
                {
                    return 0;
                }

                given = await connecting.ConfigureAwait(false);
                inherited.Add(given, errors);
                source = SettingsSource.OfProcess(args, inherited.Settings);
                configuration = source.Read();
            }
        }
        catch (ListenersUnavailableException exception)
        {
            await Console.Error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return ExitStartFailed;
        }
        catch (Exception exception) when (exception is InvalidDataException or IOException or UnauthorizedAccessException)
        {
            await Console.Error.WriteLineAsync(
                $"tunnel2-entry cannot start: {exception.Message} {exception.InnerException?.Message}".TrimEnd()).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        using var holder = given;
        ProxyEntryLaunch launch;
        try
        {
            launch = ProxyEntryLaunch.Load(configuration, source, errors, inherited);
        }
        catch (ProxyEntrySettingsException exception)
        {
            await Console.Error.WriteAsync(exception.Message).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        try
        {
            using var host = BuildHost(launch);
            await host.StartAsync().ConfigureAwait(false);
            var isOrdered = await IsOrderedAsync(stop.Task, holder).ConfigureAwait(false);
            if (!isOrdered)
            {
                // The ports of another container's network have ended with it; elsewhere the next holder cannot have them before this
                // process lets go.
                host.Services.GetRequiredService<ProxyEntryServer>().Running!.ReportHolderEnded(holder!.Path);
            }

            await host.StopAsync().ConfigureAwait(false);
            return isOrdered ? 0 : ExitStartFailed;
        }
        catch (IOException exception)
        {
            await Console.Error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return ExitStartFailed;
        }

        static void Wait(string line) => Console.Error.WriteLine($"tunnel2-entry: {line}");

        void OnSignal(PosixSignalContext context)
        {
            // The second signal does what the system does with it.
            context.Cancel = stop.TrySetResult();
        }
    }

    internal static void ConfigureLogging(ILoggingBuilder logging, LogLevel level) => logging
        .SetMinimumLevel(level)
        .AddFilter("Microsoft", level > LogLevel.Warning ? level : LogLevel.Warning)
        .AddSimpleConsole(static console =>
        {
            console.SingleLine = true;
            console.TimestampFormat = "yyyy-MM-dd HH:mm:ss.fff ";
        })
        .Services.Configure<ConsoleLoggerOptions>(static console =>
        {
            // Log lines are written by a thread of their own, and rather lost than waited for.
            console.QueueFullMode = ConsoleLoggerQueueFullMode.DropWrite;
        });

    /// <summary>
    /// The same way in as for any other program. What a host would do with signals and time limits, this one does itself.
    /// </summary>
    private static IHost BuildHost(ProxyEntryLaunch launch)
    {
        var builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings());
        ConfigureLogging(builder.Logging, launch.Settings.LogLevel);

        // What it would log of a start that failed is written to standard error.
        builder.Logging.AddFilter("Microsoft.Extensions.Hosting", LogLevel.None);
        builder.Services.AddSingleton<IHostLifetime, SignalsElsewhere>();
        builder.Services.Configure<HostOptions>(static options => options.ShutdownTimeout = Timeout.InfiniteTimeSpan);
        builder.Services.AddProxyEntryServer(_ => launch);
        return builder.Build();
    }

    /// <summary>Waits for the order to stop, or for the end of what holds the sockets; says whether it was the order.</summary>
    private static async Task<bool> IsOrderedAsync(Task stop, ListenerHolder? holder) =>
        await Task.WhenAny(holder is null ? [stop] : [stop, holder.Ended]).ConfigureAwait(false) == stop;

    /// <summary>The first word that is neither <c>--Tunnel2:Key=value</c> nor the two words <c>--Tunnel2:Key value</c>.</summary>
    private static string? FindStray(string[] args)
    {
        for (var i = 0; i < args.Length; i++)
        {
            if (!args[i].StartsWith("--Tunnel2:", StringComparison.OrdinalIgnoreCase))
            {
                return args[i];
            }

            if (!args[i].Contains('=') && i + 1 < args.Length && !args[i + 1].StartsWith("--", StringComparison.Ordinal))
            {
                i++;
            }
        }

        return null;
    }

    /// <summary>Signals are taken from before the settings are read, and the second one is the system's.</summary>
    private sealed class SignalsElsewhere : IHostLifetime
    {
        public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
    }
}
