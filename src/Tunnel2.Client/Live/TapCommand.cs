using System.Text;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Protocol;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Relay;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client.Live;

/// <summary>Runs <c>tunnel2 tap</c> and <c>tunnel2 stats</c> and returns the exit code.</summary>
internal static class TapCommand
{
    /// <summary>Runs until the end of the file or <paramref name="stop"/>.</summary>
    public static Task<int> RunAsync(string[] args, TextWriter output, TextWriter error, CancellationToken stop) =>
        RunAsync(args, static _ => null, output, error, stop);

    /// <summary>The same with an environment, which may have the token for a relay.</summary>
    public static async Task<int> RunAsync(
        string[] args, Func<string, string?> environment, TextWriter output, TextWriter error, CancellationToken stop)
    {
        var mistakes = new List<string>();
        if (new TapCommandLine().Parse(args, environment, mistakes) is not { } options)
        {
            await error.WriteLineAsync($"tunnel2: {PlainText.Clean(string.Join("; ", mistakes))}");
            await error.WriteLineAsync(HelpText.UsageFor(CommandLineReader.Read(args)));
            return AgentExitCode.Usage;
        }

        try
        {
            return args[0] == "stats"
                ? new StatsCommand(options, ProgressBar.OfProcess(error, TimeProvider.System), output, error).Run(stop)
                : await TapAsync(options, output, error, stop);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The system's words for a folder are those for a file that may not be read.
            await error.WriteLineAsync("tunnel2: " + PlainText.Clean(options.ReplayFile is { } path && Directory.Exists(path)
                ? $"{path}: cannot be read: {FileFailure.Reason(path, exception)}" : exception.Message));
            return AgentExitCode.InternalError;
        }
    }

    private static async Task<int> TapAsync(TapOptions options, TextWriter output, TextWriter error, CancellationToken stop)
    {
        using RecordingWriter? recording = options.RecordFile is { } file ? RecordingWriter.Create(file) : null;
        using var json = new JsonRecordFormatter();
        IRecordFormatter formatter = options.Json ? json : new HumanRecordFormatter(TimeZoneInfo.Local);
        var sink = new TapSink(options.Filter, formatter, output, error, recording);
        int code = options switch
        {
            { ReplayFile: { } replay } => Replay(replay, sink, error, stop),
            { Cluster: { } cluster } => await new ClusterTap(cluster, sink, error, TimeProvider.System).RunAsync(stop),
            { Relay: { } relay } => await FollowRelayAsync(relay, options, sink, error, stop),
            _ => FollowRing(options, sink, error, stop),
        };
        if (code is not (AgentExitCode.ServerUnreachable or AgentExitCode.Rejected))
        {
            sink.End();
        }

        return code;
    }

    private static int Replay(string path, TapSink sink, TextWriter error, CancellationToken stop)
    {
        using var reader = new RecordingReader(File.OpenRead(path));
        while (!stop.IsCancellationRequested && reader.TryRead(sink))
        {
        }

        if (reader.Status is RecordingStatus.Complete or RecordingStatus.Reading)
        {
            return AgentExitCode.Stopped;
        }

        error.WriteLine($"tunnel2: {RecordingText.Describe(path, reader)}");
        return AgentExitCode.InternalError;
    }

    private static int FollowRing(TapOptions options, TapSink sink, TextWriter error, CancellationToken stop)
    {
        string? path = options.RingFile;
        if (path is null)
        {
            string[] rings =
            [
                .. RuntimeDirectory.FindRings().Where(
                    static ring => LocalTap.TryOpen(ring, out SharedEventRing? found) == EventRingOpenError.None && !found!.IsClosed),
            ];
            if (rings.Length != 1)
            {
                error.WriteLine(rings.Length == 0
                    ? $"tunnel2: no server of this user publishes to {RuntimeDirectory.Path}; is tunnel2-entry running, with "
                        + $"Tunnel2:Live on? (--ring FILE and --host HOST look elsewhere)"
                    : $"tunnel2: several servers publish here; choose one with --ring: {string.Join(", ", rings)}");
                return AgentExitCode.ServerUnreachable;
            }

            path = rings[0];
        }

        EventRingOpenError problem = LocalTap.TryOpen(path, out SharedEventRing? ring);
        if (problem != EventRingOpenError.None)
        {
            error.WriteLine($"tunnel2: {PlainText.Clean(path)}: {RecordingText.Describe(problem)}");
            return AgentExitCode.ServerUnreachable;
        }

        error.WriteLine($"tunnel2: following {PlainText.Clean(path)}; Ctrl+C ends");
        new LocalTap(path, sink).Run(ring!, options.FromOldest, stop);
        return AgentExitCode.Stopped;
    }

    private static async Task<int> FollowRelayAsync(
        RelayTarget relay, TapOptions options, TapSink sink, TextWriter error, CancellationToken stop)
    {
        var tls = relay.Tls is { } trusted ? new RelayTlsClient(relay.Server.Host, trusted, TimeProvider.System) : null;
        var client = new EventRelayClient(
            new RelayClientOptions
            {
                Server = relay.EndPoint,
                Encrypt = tls is null ? null : tls.EncryptAsync,
                Token = Encoding.UTF8.GetBytes(relay.Token ?? ""),
                From = options.FromOldest ? EventRingReaderOptions.FromOldest : EventRingReaderOptions.FromHead,
                OnIdle = sink.Flush,
                OnDisconnected = (end, delay) => error.WriteLine(
                    $"tunnel2: {PlainText.Clean(end == RelayClientEnd.TlsFailed ? tls!.Problem! : RecordingText.Describe(end))}; "
                        + $"trying again in {delay.TotalSeconds:0.0} s"),
            },
            sink);
        error.WriteLine($"tunnel2: following the relay at {relay}; Ctrl+C ends");
        RelayClientEnd end = await client.RunAsync(stop);
        if (end == RelayClientEnd.Closed)
        {
            return AgentExitCode.Stopped;
        }

        error.WriteLine(
            end == RelayClientEnd.NotAuthorized && relay.Token is null
                ? $"tunnel2: the relay wants its server's admin token (--token, or {TopCommandLine.TokenVariable})"
                : $"tunnel2: {RecordingText.Describe(end)}");
        return AgentExitCode.Rejected;
    }
}
