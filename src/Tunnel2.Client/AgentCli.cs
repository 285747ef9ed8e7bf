using System.Net;
using System.Net.Sockets;
using System.Runtime.Versioning;
using System.Text;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Commands;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Files;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Inspecting;
using Tunnel2.Client.Running;
using Tunnel2.Client.Screens;
using Tunnel2.Client.Services;
using Tunnel2.Client.Terminals;
using Tunnel2.Protocol;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client;

/// <summary>The program <c>tunnel2</c>: reads the command line, runs the tunnels until a signal, returns the exit code.</summary>
internal static class AgentCli
{
    /// <summary>
    /// After a signal, a command has so long to end by itself. A call of the system can hold it up for ever: a pipe in the place of a file,
    /// a network's file system, an output that nothing takes.
    /// </summary>
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(3);

    /// <summary>What a user needs who has configured nothing.</summary>
    private static readonly string[] _needs =
    [
        $"tunnel2: no server is named, and none runs on this machine at 127.0.0.1:{ServerEndpoint.DefaultPort}. A tunnel needs:",
        "  a server  'tunnel2 login HOST' once, or --server HOST[:PORT] each time; one of your own: tunnel2-entry (see its README)",
        "  a token   where the server wants one: 'tunnel2 login' asks for it, TUNNEL2_TOKEN has it too; the server's operator makes it",
    ];

    /// <summary>Runs the program on the process's own console, environment and signals.</summary>
    public static async Task<int> RunAsync(string[] args)
    {
        if (OperatingSystem.IsWindows() && Environment.GetEnvironmentVariable(WindowsManager.Variable) is { Length: > 0 } service)
        {
            return RunForWindows(args, service);
        }

        bool runsTunnels = CommandLineReader.Read(args).Command is not { RunsTunnels: false };
        using var signals = new StopSignals(Environment.Exit, runsTunnels ? null : _patience);

        // A command ends with the reader of its output; a tunnel continues without one.
        bool hasReader = true;
        Stream to = OutputStream.Open(OutputStream.Standard, Console.OpenStandardOutput, runsTunnels ? null : EndWithReader);
        Stream toError = OutputStream.Open(OutputStream.Error, Console.OpenStandardError, null);

        // Not Console.Out, which flushes every line and changes the terminal's settings. It is flushed where lines are written, and never
        // disposed of: a last flush into a pipe without a reader would hold up the end of the process.
        var output = new StreamWriter(to, new UTF8Encoding(false));
        var error = new HeldWriter(new StreamWriter(toError, new UTF8Encoding(false)) { AutoFlush = true });
        try
        {
            return await RunAsync(
                args,
                Environment.GetEnvironmentVariable,
                loops => AgentRunnerFactory.Create(loops, error),
                output,
                error,
                signals.Token,
                openTerminal: static () => LinuxTerminal.TryOpen(Environment.GetEnvironmentVariable),
                isTerminal: !Console.IsOutputRedirected,
                hasLocalServer: HasLocalServerAsync,
                openInput: static () => Console.IsInputRedirected ? null : Console.In,
                readSecret: static () => Console.IsInputRedirected ? null : ReadSecret(),
                readPiped: static () => Console.IsInputRedirected ? Console.In.ReadLine() : null,
                leaveInterrupts: signals.LeaveInterrupts,
                hasReader: () => Volatile.Read(ref hasReader));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Commands have their own words for their files: this is the output, which is closed, or on a disk that is full.
            string reason = PlainText.Clean((exception.InnerException ?? exception).Message);
            await error.WriteLineAsync($"tunnel2: the output cannot be written: {reason}");
            return AgentExitCode.InternalError;
        }

        void EndWithReader()
        {
            Volatile.Write(ref hasReader, false);
            signals.Stop();
        }
    }

    /// <summary>Runs the program for the service control manager of Windows, with its output in the service's log.</summary>
    [SupportedOSPlatform("windows")]
    private static int RunForWindows(string[] args, string service)
    {
        string path = new WindowsManager(Environment.GetEnvironmentVariable).LogFileOf(service);
        using var log = new ServiceLog(path);
        return WindowsServiceHost.Run(
            service,
            stop => RunAsync(
                args, Environment.GetEnvironmentVariable, loops => AgentRunnerFactory.Create(loops, log), log, log, stop));
    }

    /// <summary>
    /// Runs the program on the given console, environment and clock (null: the system's) until <paramref name="stop"/>. A screen is shown
    /// on the terminal that <paramref name="openTerminal"/> returns; null: none. Where the output is a terminal, requests can be inspected.
    /// Where no server is named, <paramref name="hasLocalServer"/> says whether one runs here; null: that is not asked. Questions are
    /// answered on what <paramref name="openInput"/> returns, and by <paramref name="readSecret"/>; null: there is no person to ask.
    /// <paramref name="readPiped"/> reads a line that no person types; <paramref name="leaveInterrupts"/> leaves Ctrl+C to another program.
    /// <paramref name="hasReader"/> says whether the output still has a reader: a command that ends because it has none has not failed.
    /// </summary>
    internal static async Task<int> RunAsync(
        string[] args,
        Func<string, string?> environment,
        Func<int?, IAgentRunner> createRunner,
        TextWriter output,
        TextWriter error,
        CancellationToken stop,
        TimeProvider? time = null,
        Func<ITerminal?>? openTerminal = null,
        bool isTerminal = false,
        Func<CancellationToken, Task<bool>>? hasLocalServer = null,
        Func<TextReader?>? openInput = null,
        Func<string?>? readSecret = null,
        Func<string?>? readPiped = null,
        Func<IDisposable>? leaveInterrupts = null,
        Func<bool>? hasReader = null)
    {
        ParsedLine line = CommandLineReader.Read(args);
        if (line is { WantsHelp: false, WantsVersion: false, Command.RunsTunnels: false })
        {
            var console = new CommandConsole(args, line, environment, output, error, time ?? TimeProvider.System, openTerminal)
            {
                CreateRunner = createRunner,
                OpenInput = openInput,
                ReadSecret = readSecret,
                ReadPiped = readPiped,
                LeaveInterrupts = leaveInterrupts,
            };
            try
            {
                return await CommandRunner.RunAsync(console, stop);
            }
            catch (OperationCanceledException) when (stop.IsCancellationRequested)
            {
                return hasReader?.Invoke() is false
                    ? AgentExitCode.Stopped
                    : await console.FailAsync("stopped", AgentExitCode.InternalError);
            }
        }

        CommandLineResult commandLine;
        try
        {
            // The file of tunnels may be a pipe that no program writes to.
            commandLine = await Task.Run(() => new AgentCommandLine().Parse(line, environment), CancellationToken.None).WaitAsync(stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            return AgentExitCode.Stopped;
        }

        switch (commandLine.Request)
        {
            case CommandLineRequest.Help:
                await output.WriteAsync(HelpText.For(line));
                await output.FlushAsync(CancellationToken.None);
                return AgentExitCode.Stopped;
            case CommandLineRequest.Version:
                await output.WriteLineAsync(HelpText.Version);
                await output.FlushAsync(CancellationToken.None);
                return AgentExitCode.Stopped;
            case CommandLineRequest.Run when commandLine.NamesNoServer && hasLocalServer is not null && !await hasLocalServer(stop):
                foreach (string need in _needs)
                {
                    await error.WriteLineAsync(need);
                }

                return AgentExitCode.Usage;
            case CommandLineRequest.Run when commandLine.Tunnels is { Count: > 0 } tunnels:
                return await RunTunnelsAsync(commandLine, tunnels);
            default:
                foreach (string mistake in (commandLine.Mistake ?? "").Split('\n'))
                {
                    await error.WriteLineAsync($"tunnel2: {PlainText.Clean(mistake)}");
                }

                await error.WriteLineAsync(HelpText.UsageFor(line));
                return AgentExitCode.Usage;
        }

        async Task<int> RunTunnelsAsync(CommandLineResult checkedLine, IReadOnlyList<AgentOptions> tunnels)
        {
            FileServer? files = null;
            try
            {
                files = checkedLine.ServedFolder is { } folder
                    ? FileServer.Start(folder, checkedLine.ListsFolder, time ?? TimeProvider.System)
                    : null;
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                await error.WriteLineAsync($"tunnel2: {PlainText.Clean(exception.Message)}");
                return AgentExitCode.InternalError;
            }

            await using FileServer? served = files;
            if (served is not null)
            {
                tunnels =
                [
                    .. tunnels.Select(one => one with { Upstream = served.Target, TrustsBackend = true, WatchesBackend = false }),
                ];
            }

            AgentOptions Prepare(AgentOptions options) => AgentInspector.Decide(WithOwnerKey(options, environment), isTerminal);

            var run = new AgentRun(
                [.. tunnels.Select(Prepare)], createRunner, environment, output, time ?? TimeProvider.System, checkedLine.File, Prepare);
            return !checkedLine.MayShowScreen || openTerminal?.Invoke() is not { } terminal
                ? await run.RunAsync(error, stop)
                : await run.RunOnScreenAsync(terminal, error, stop);
        }
    }

    /// <summary>Reads a line without showing it.</summary>
    private static string ReadSecret()
    {
        const int Longest = 4096;
        var secret = new StringBuilder();
        while (Console.ReadKey(intercept: true) is var key && key.Key != ConsoleKey.Enter)
        {
            if (key.Key == ConsoleKey.Backspace)
            {
                secret.Length = Math.Max(0, secret.Length - 1);
            }
            else if (!char.IsControl(key.KeyChar) && secret.Length < Longest)
            {
                secret.Append(key.KeyChar);
            }
        }

        return secret.ToString();
    }

    /// <summary>Whether something listens where a server of this machine usually does.</summary>
    private static async Task<bool> HasLocalServerAsync(CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(1));
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            await socket.ConnectAsync(IPAddress.Loopback, ServerEndpoint.DefaultPort, either.Token);
            return true;
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            return stop.IsCancellationRequested;
        }
    }

    private static AgentOptions WithOwnerKey(AgentOptions options, Func<string, string?> environment) =>
        options.Token is null ? options with { OwnerKey = OwnerKey.For(environment, options.Server) } : options;
}
