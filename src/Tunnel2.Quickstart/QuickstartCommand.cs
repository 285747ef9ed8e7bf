using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol;
using Tunnel2.Quickstart.Sample;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Quickstart;

/// <summary>The program <c>tunnel2-quickstart</c>.</summary>
internal static class QuickstartCommand
{
    private const int ExitDone = 0;
    private const int ExitFailed = 1;
    private const int ExitUsage = 2;

    /// <summary>Runs until a signal, or until one request was answered; returns the exit code.</summary>
    /// <param name="args">The words after the program's name.</param>
    public static async Task<int> RunAsync(string[] args)
    {
        // Synchronized, because this method and the agent's lines share it.
        var output = TextWriter.Synchronized(new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { AutoFlush = true });
        var error = TextWriter.Synchronized(new StreamWriter(Console.OpenStandardError(), new UTF8Encoding(false)) { AutoFlush = true });
        var arguments = QuickstartArguments.Parse(args);
        var mistakes = EngineVariables.FindMistakes(Environment.GetEnvironmentVariable, EngineSetup.HasEpoll);
        if ((arguments.Mistake ?? mistakes.FirstOrDefault()) is { } mistake)
        {
            await error.WriteLineAsync($"tunnel2-quickstart: {PlainText.Clean(mistake)}").ConfigureAwait(false);
            await error.WriteLineAsync(QuickstartArguments.Usage).ConfigureAwait(false);
            return ExitUsage;
        }

        if (arguments.WantsHelp)
        {
            await output.WriteAsync(QuickstartArguments.Help).ConfigureAwait(false);
            return ExitDone;
        }

        using var stop = new CancellationTokenSource();
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, OnSignal);
        using var terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, OnSignal);
        try
        {
            using var engine = EngineSetup.Start(EngineVariables.Read(Environment.GetEnvironmentVariable), loops: 1);
            return await RunAsync(arguments, engine, output, error, stop.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            return ExitDone;
        }
        catch (Exception exception) when (exception is IOException or HttpRequestException or OperationCanceledException or SocketException)
        {
            await error.WriteLineAsync($"tunnel2-quickstart: {PlainText.Clean(exception.Message)}").ConfigureAwait(false);
            return ExitFailed;
        }

        void OnSignal(PosixSignalContext context)
        {
            // The system handles the second signal, which ends the process.
            if (!stop.IsCancellationRequested)
            {
                context.Cancel = true;
                _ = stop.CancelAsync();
            }
        }
    }

    private static async Task<int> RunAsync(
        QuickstartArguments arguments, IEngine engine, TextWriter output, TextWriter error, CancellationToken stop)
    {
        await using var sample = arguments.Backend is null ? await SampleBackend.StartAsync().ConfigureAwait(false) : null;
        var backend = arguments.Backend ?? new BackendTarget(false, "127.0.0.1", sample!.Port);

        // With --once, standard output has only the answer, for scripts.
        var notes = arguments.Once ? error : output;
        await using var tunnel = await QuickstartTunnel.StartAsync(
            backend, engine, arguments.Once ? TextWriter.Null : output, notes).ConfigureAwait(false);
        if (arguments.Once)
        {
            await error.WriteLineAsync($"GET {tunnel.PublicUrl} -> {backend}").ConfigureAwait(false);
            return await SingleRequest.SendAsync(tunnel.PublicUrl, output, stop).ConfigureAwait(false) ? ExitDone : ExitFailed;
        }

        await output.WriteAsync(
            await QuickstartText.DescribeAsync(tunnel, backend, isSample: sample is not null, stop)
                .ConfigureAwait(false))
                .ConfigureAwait(false);
        await Task.Delay(Timeout.Infinite, stop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await output.WriteLineAsync("Stopping").ConfigureAwait(false);

        // Before the tunnel, because the sample's clock would keep it from draining.
        sample?.EndEvents();
        return ExitDone;
    }
}
