using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Extensions.Logging.Console;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.Transport.Outputs;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Supervision;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// The command of <c>tunnel2-entry</c> that runs the server: reads the settings, runs until a signal, returns the exit code.
/// </summary>
internal static class ProxyEntryCommand
{
    /// <summary>A listener could not be bound, the holder of the sockets has ended, or another fault at the start.</summary>
    private const int ExitStartFailed = 1;

    public static async Task<int> RunAsync(string[] args)
    {
        args = EntryWords.Separated(EntryWords.Named(args));
        TextWriter output = Open(OutputStream.Standard, Console.OpenStandardOutput);
        TextWriter error = Open(OutputStream.Error, Console.OpenStandardError);
        try
        {
            if (await RunCommandAsync(args, output, error).ConfigureAwait(false) is { } exitCode)
            {
                return exitCode;
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Commands have their own words for their files: this is the output, which is closed, or on a disk that is full.
            var reason = PlainText.Clean((exception.InnerException ?? exception).Message);
            await error.WriteLineAsync($"tunnel2-entry: the output cannot be written: {reason}").ConfigureAwait(false);
            return ExitStartFailed;
        }

        if (EntryWords.StrayIn(args) is { } stray)
        {
            await error.WriteLineAsync($"tunnel2-entry: {stray}").ConfigureAwait(false);
            await error.WriteLineAsync(EntryHelp.Usage).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        var files = OpenFiles.Limit();
        if (files < DescriptorBudget.LeastFiles)
        {
            await error.WriteLineAsync(
                $"tunnel2-entry: this process may have only {files} files open, and more than {DescriptorBudget.LeastFiles} are needed: "
                    + $"raise the limit (ulimit -n, LimitNOFILE)").ConfigureAwait(false);
            return ExitStartFailed;
        }

        // Registered first: the first process of a container ignores signals that it has no handler for.
        var stop = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, OnSignal);
        using var terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, OnSignal);
        ILogger? log = null;
        using var hangUp = OperatingSystem.IsWindows() ? null : PosixSignalRegistration.Create(PosixSignal.SIGHUP, OnHangUp);
        var errors = new List<SettingsError>();
        using var inherited = InheritedSockets.Read(Environment.GetEnvironmentVariable, Environment.ProcessId, errors);
        SettingsSource source;
        IConfigurationRoot configuration;
        ListenerHolder? given = null;
        try
        {
            source = SettingsSource.OfProcess(args, inherited.Settings);
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
            await error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return ExitStartFailed;
        }
        catch (Exception exception) when (exception is InvalidDataException or IOException or UnauthorizedAccessException)
        {
            await error.WriteLineAsync(
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
            await error.WriteAsync(exception.Message).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        try
        {
            using var host = BuildHost(launch);
            await host.StartAsync().ConfigureAwait(false);
            Volatile.Write(ref log, host.Services.GetRequiredService<ILogger<ProxyEntryServer>>());
            var running = host.Services.GetRequiredService<ProxyEntryServer>().Running!;
            using var supervision = ServiceSupervision.Find(
                Environment.GetEnvironmentVariable, Environment.ProcessId, TimeProvider.System, () => running.Trouble is null,
                () => running.Trouble ?? "serving");
            supervision?.Ready();
            var isOrdered = await IsOrderedAsync(stop.Task, holder).ConfigureAwait(false);
            supervision?.Stopping();
            if (!isOrdered)
            {
                // The ports belonged to the holder's network or socket. In another container they ended with it; elsewhere the next holder
                // cannot bind them before this process ends.
                running.ReportHolderEnded(holder!.Path);
            }

            await host.StopAsync().ConfigureAwait(false);
            return isOrdered ? 0 : ExitStartFailed;
        }
        catch (IOException exception)
        {
            await error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return ExitStartFailed;
        }

        void Wait(string line) => error.WriteLine($"tunnel2-entry: {line}");

        void OnHangUp(PosixSignalContext context)
        {
            // Other servers read their files again at this signal. Without a handler it would end this one in the middle of its requests.
            context.Cancel = true;
            if (Volatile.Read(ref log) is { } reader)
            {
                ProxyEntryLog.HangUp(reader);
            }
        }

        void OnSignal(PosixSignalContext context)
        {
            // The system handles the second signal, which ends the process.
            context.Cancel = stop.TrySetResult();
        }
    }

    /// <summary>Not those of <see cref="Console"/>, which change the settings of a terminal.</summary>
    private static TextWriter Open(int descriptor, Func<Stream> ofSystem) => TextWriter.Synchronized(
        new StreamWriter(OutputStream.Open(descriptor, ofSystem, null), new UTF8Encoding(false)) { AutoFlush = true });

    /// <summary>Runs the command that is meant; null: none, but the server.</summary>
    private static async Task<int?> RunCommandAsync(string[] args, TextWriter output, TextWriter error)
    {
        if (EntryHelp.Asked(args) is { } help)
        {
            await output.WriteAsync(help).ConfigureAwait(false);
            return 0;
        }

        if (EntryWords.MistakeOf(args) is { } mistake)
        {
            await error.WriteLineAsync($"tunnel2-entry: {mistake}").ConfigureAwait(false);
            await error.WriteLineAsync(EntryWords.UsageOf(args[0])).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        if (SessionsCommand.IsMeant(args))
        {
            return await SessionsCommand.RunAsync(args, output, error).ConfigureAwait(false);
        }

        if (TokensCommand.IsMeant(args))
        {
            return await TokensCommand.RunAsync(args, output, error).ConfigureAwait(false);
        }

        if (TokenCommand.IsMeant(args))
        {
            return TokenCommand.Run(args, output, error);
        }

        if (PoliciesCommand.IsMeant(args))
        {
            return await PoliciesCommand.RunAsync(args, output, error).ConfigureAwait(false);
        }

        if (AgentsCommand.IsMeant(args))
        {
            return await AgentsCommand.RunAsync(args, output, error).ConfigureAwait(false);
        }

        if (RequestsCommand.IsMeant(args))
        {
            return await RequestsCommand.RunAsync(args, output, error).ConfigureAwait(false);
        }

        if (CertificatesCommand.IsMeant(args))
        {
            return await CertificatesCommand.RunAsync(args, output, error).ConfigureAwait(false);
        }

        if (CertificateCommand.IsMeant(args))
        {
            return CertificateCommand.Run(args, output, error);
        }

        if (ClusterNodesCommand.IsMeant(args))
        {
            return await ClusterNodesCommand.RunAsync(args, output, error).ConfigureAwait(false);
        }

        if (ClusterCommand.IsMeant(args))
        {
            return ClusterCommand.Run(args, output, error);
        }

        if (HealthCommand.IsMeant(args))
        {
            return await HealthCommand.RunAsync(args, output, error).ConfigureAwait(false);
        }

        return null;
    }

    internal static void ConfigureLogging(ILoggingBuilder logging, LogLevel level) =>
        ConfigureLogging(logging, level, Environment.GetEnvironmentVariable("TERM"));

    internal static void ConfigureLogging(ILoggingBuilder logging, LogLevel level, string? terminal) => logging
        .SetMinimumLevel(level)
        .AddFilter("Microsoft", level > LogLevel.Warning ? level : LogLevel.Warning)
        .AddSimpleConsole(console =>
        {
            // By default NO_COLOR and an output that is no terminal are respected, and not a terminal that shows sequences as text.
            console.ColorBehavior = terminal is "dumb" ? LoggerColorBehavior.Disabled : LoggerColorBehavior.Default;
            console.SingleLine = true;
            console.TimestampFormat = "yyyy-MM-dd HH:mm:ss.fff ";
        })
        .Services.Configure<ConsoleLoggerOptions>(static console =>
        {
            // A separate thread writes log lines. A line is dropped when that thread is too slow; no code waits for it.
            console.QueueFullMode = ConsoleLoggerQueueFullMode.DropWrite;
        });

    /// <summary>
    /// Uses the same public call as any other program. This program handles signals and time limits itself, not the host.
    /// </summary>
    private static IHost BuildHost(ProxyEntryLaunch launch)
    {
        var builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings());
        ConfigureLogging(builder.Logging, launch.Settings.LogLevel);

        // A failed start is reported on standard error, not in the log.
        builder.Logging.AddFilter("Microsoft.Extensions.Hosting", LogLevel.None);
        builder.Services.AddSingleton<IHostLifetime, SignalsElsewhere>();
        builder.Services.Configure<HostOptions>(static options => options.ShutdownTimeout = Timeout.InfiniteTimeSpan);
        builder.Services.AddProxyEntryServer(_ => launch);
        return builder.Build();
    }

    /// <summary>Waits for the signal to stop, or for the end of the sockets' holder. True when it was the signal.</summary>
    private static async Task<bool> IsOrderedAsync(Task stop, ListenerHolder? holder) =>
        await Task.WhenAny(holder is null ? [stop] : [stop, holder.Ended]).ConfigureAwait(false) == stop;

    /// <summary>The command handles signals before the settings are read, so the host must not.</summary>
    private sealed class SignalsElsewhere : IHostLifetime
    {
        public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
    }
}
