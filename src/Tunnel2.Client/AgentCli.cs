using System.Text;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Live;
using Tunnel2.Client.Running;
using Tunnel2.Protocol;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Client;

/// <summary>The program <c>tunnel2</c>: reads the command line, runs the tunnels until a signal, returns the exit code.</summary>
internal static class AgentCli
{
    /// <summary>Below this many open files the program prints a note, because each running request needs one or two.</summary>
    private const int FewFiles = 4096;

    /// <summary>
    /// With fewer the runtime itself fails sooner or later, with a less clear error, because it keeps two for each assembly.
    /// </summary>
    private const int LeastFiles = 128;

    /// <summary>Runs the program on the process's own console, environment and signals.</summary>
    public static async Task<int> RunAsync(string[] args)
    {
        // Not Console.Out, which flushes every line and changes the terminal's settings. It is flushed where lines are written, and never
        // disposed of: a last flush into a pipe without a reader would hold up the end of the process.
        var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
        var error = new StreamWriter(Console.OpenStandardError(), new UTF8Encoding(false)) { AutoFlush = true };
        using var signals = new StopSignals(Environment.Exit);
        return await RunAsync(args, Environment.GetEnvironmentVariable, AgentRunnerFactory.Create, output, error, signals.Token);
    }

    /// <summary>Runs the program on the given console, environment and clock (null: the system's) until <paramref name="stop"/>.</summary>
    internal static async Task<int> RunAsync(
        string[] args,
        Func<string, string?> environment,
        Func<int?, IAgentRunner> createRunner,
        TextWriter output,
        TextWriter error,
        CancellationToken stop,
        TimeProvider? time = null)
    {
        if (args is ["help", .. var topics])
        {
            return await HelpAsync(topics, output, error);
        }

        if (TapCommand.IsMeant(args))
        {
            return await TapCommand.RunAsync(args, environment, output, error, stop);
        }

        if (TopCommand.IsMeant(args))
        {
            return await TopCommand.RunAsync(args, environment, output, error, stop);
        }

        CommandLineResult commandLine = new AgentCommandLine().Parse(args, environment);
        switch (commandLine.Request)
        {
            case CommandLineRequest.Help:
                await output.WriteAsync(HelpText.For(args));
                await output.FlushAsync(CancellationToken.None);
                return AgentExitCode.Stopped;
            case CommandLineRequest.Version:
                await output.WriteLineAsync(HelpText.Version);
                await output.FlushAsync(CancellationToken.None);
                return AgentExitCode.Stopped;
            case CommandLineRequest.Run when commandLine.Tunnels is { Count: > 0 } tunnels:
                return await RunAgentsAsync(
                    [.. tunnels.Select(options => WithOwnerKey(options, environment))],
                    createRunner,
                    output,
                    error,
                    time ?? TimeProvider.System,
                    stop);
            default:
                foreach (string mistake in (commandLine.Mistake ?? "").Split('\n'))
                {
                    await error.WriteLineAsync($"tunnel2: {PlainText.Clean(mistake)}");
                }

                await error.WriteLineAsync(HelpText.Usage);
                return AgentExitCode.Usage;
        }
    }

    private static async Task<int> HelpAsync(string[] topics, TextWriter output, TextWriter error)
    {
        string? text = topics is [] ? HelpText.Help : topics is [var topic] ? HelpText.For(topic) : null;
        if (text is null)
        {
            await error.WriteLineAsync($"tunnel2: 'help' takes one of the commands: {string.Join(", ", HelpText.Commands)}");
            await error.WriteLineAsync(HelpText.Usage);
            return AgentExitCode.Usage;
        }

        await output.WriteAsync(text);
        await output.FlushAsync(CancellationToken.None);
        return AgentExitCode.Stopped;
    }

    /// <summary>Runs all tunnels until the last one has ended; one that fails does not end others.</summary>
    private static async Task<int> RunAgentsAsync(
        IReadOnlyList<AgentOptions> tunnels,
        Func<int?, IAgentRunner> createRunner,
        TextWriter output,
        TextWriter error,
        TimeProvider time,
        CancellationToken stop)
    {
        int files = OpenFiles.Limit();
        if (files < LeastFiles)
        {
            await error.WriteLineAsync(
                $"tunnel2: this process may have only {files} files open, and at least {LeastFiles} are needed: raise the limit (ulimit "
                    + $"-n, LimitNOFILE)");
            return AgentExitCode.InternalError;
        }

        // The form of lines is the same for all tunnels.
        bool verbose = tunnels[0].Verbose;
        await using var events = new AgentEventWriter(CreateFormatter(tunnels), output, time, verbose);
        if (files < FewFiles)
        {
            events.FewFiles(files);
        }

        // The process has one set of loops: all tunnels have the same value.
        IAgentRunner runner;
        try
        {
            runner = createRunner(tunnels[0].Loops);
        }
        catch (IOException exception)
        {
            await error.WriteLineAsync($"tunnel2: {tunnels[0].Loops ?? 1} event loops cannot be started (--loops): {exception.Message}");
            return AgentExitCode.InternalError;
        }

        int[] exitCodes = await Task.WhenAll(
            tunnels.Select(options => RunAgentAsync(runner, options, events.For(options.Name), error, stop)));

        // It was asked to stop and stopped, so the result is 0. The lines show how each of several tunnels ended.
        return tunnels.Count > 1 && stop.IsCancellationRequested ? AgentExitCode.Stopped : exitCodes.Max();
    }

    private static async Task<int> RunAgentAsync(
        IAgentRunner runner, AgentOptions options, IAgentEvents events, TextWriter error, CancellationToken stop)
    {
        try
        {
            return await runner.RunAsync(options, events, stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            return AgentExitCode.Stopped;
        }
        catch (Exception exception)
        {
            await error.WriteLineAsync($"tunnel2: internal error: {exception}");
            return AgentExitCode.InternalError;
        }
    }

    private static AgentOptions WithOwnerKey(AgentOptions options, Func<string, string?> environment) =>
        options.Token is null ? options with { OwnerKey = OwnerKey.For(environment, options.Server) } : options;

    private static IAgentEventFormatter CreateFormatter(IReadOnlyList<AgentOptions> tunnels)
    {
        IAgentEventFormatter common = Create(tunnels[0], "");
        return tunnels.Count == 1
            ? common
            : new TunnelsEventFormatter(
                tunnels.ToDictionary(static options => options.Name, static options => Create(options, $"[{options.Name}] ")), common);

        static IAgentEventFormatter Create(AgentOptions options, string prefix) => options.Json
            ? new JsonEventFormatter(options.Server, options.Tls)
            : new HumanEventFormatter(options.Server, options.Verbose, prefix: prefix, tls: options.Tls);
    }
}
