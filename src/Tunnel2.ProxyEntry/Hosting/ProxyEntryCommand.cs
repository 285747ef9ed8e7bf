using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging.Console;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.Transport.Engine;
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
        var (settings, mistakes) = SettingsLoader.Load(configuration, files);
        if (settings is null || errors.Count > 0)
        {
            await Console.Error.WriteAsync(SettingsErrorFormatter.Format([.. errors, .. mistakes])).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        IEngine started;
        try
        {
            started = EngineSetup.Start(settings.Engine, settings.Loops);
        }
        catch (IOException exception)
        {
            await Console.Error.WriteLineAsync(
                $"tunnel2-entry: {settings.Loops} event loops cannot be started (Tunnel2:Loops): "
                    + $"{exception.Message}").ConfigureAwait(false);
            return ExitStartFailed;
        }

        using var engine = started;
        try
        {
            await using var host = await ProxyEntryHost.StartAsync(
                settings, engine, logging => ConfigureLogging(logging, settings.LogLevel), source, inherited).ConfigureAwait(false);
            if (holder is null || await Task.WhenAny(stop.Task, holder.Ended).ConfigureAwait(false) == stop.Task)
            {
                await stop.Task.ConfigureAwait(false);
                return 0;
            }

            // The ports of another container's network have ended with it; elsewhere the next holder cannot have them before this process
            // lets go.
            host.ReportHolderEnded(holder.Path);
            return ExitStartFailed;
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
}
