using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Inspecting;
using Tunnel2.Client.Reloading;
using Tunnel2.Client.Screens;
using Tunnel2.Client.States;
using Tunnel2.Client.Terminals;
using Tunnel2.Client.TunnelFiles;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Supervision;

namespace Tunnel2.Client;

/// <summary>Runs the tunnels of a process until the last one has ended; one that fails does not end others.</summary>
internal sealed class AgentRun
{
    /// <summary>Below this many open files the program prints a note, because each running request needs one or two.</summary>
    private const int FewFiles = 4096;

    /// <summary>
    /// With fewer the runtime itself fails sooner or later, with a less clear error, because it keeps two for each assembly.
    /// </summary>
    private const int LeastFiles = 128;

    private readonly AgentOptions[] _tunnels;
    private readonly Func<int?, IAgentRunner> _createRunner;
    private readonly Func<string, string?> _environment;
    private readonly TextWriter _output;
    private readonly TimeProvider _time;
    private readonly TunnelFileSource? _file;
    private readonly Func<AgentOptions, AgentOptions> _prepare;
    private TunnelSet? _set;

    /// <param name="tunnels">The tunnels to begin with.</param>
    /// <param name="createRunner">Makes what runs a tunnel, for a number of event loops.</param>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <param name="output">Where events are written.</param>
    /// <param name="time">The clock.</param>
    /// <param name="file">The file that the tunnels come from; null: none. It is read again when it changes.</param>
    /// <param name="prepare">Completes the options of a tunnel that comes later.</param>
    public AgentRun(
        AgentOptions[] tunnels,
        Func<int?, IAgentRunner> createRunner,
        Func<string, string?> environment,
        TextWriter output,
        TimeProvider time,
        TunnelFileSource? file,
        Func<AgentOptions, AgentOptions> prepare)
    {
        _tunnels = tunnels;
        _createRunner = createRunner;
        _environment = environment;
        _output = output;
        _time = time;
        _file = file;
        _prepare = prepare;
    }

    /// <summary>Runs with lines on the output.</summary>
    public Task<int> RunAsync(TextWriter error, CancellationToken stop) => RunAsync(CreateFormatter(), error, wantsRequests: false, stop);

    /// <summary>Runs with a live screen.</summary>
    public async Task<int> RunOnScreenAsync(ITerminal terminal, TextWriter error, CancellationToken stop)
    {
        bool hasColors = string.IsNullOrEmpty(_environment("NO_COLOR"));
        HeldWriter held = error as HeldWriter ?? new HeldWriter(error);
        await using var display = new AgentDisplay(terminal, _tunnels[0], CreateFormatter(), _output, held, _time, hasColors);
        return await RunAsync(display.Events, held, wantsRequests: true, stop);
    }

    private async Task<int> RunAsync(IAgentEventFormatter formatter, TextWriter error, bool wantsRequests, CancellationToken stop)
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
        await using var events = new AgentEventWriter(formatter, _output, _time, wantsRequests || _tunnels[0].Verbose);
        if (files < FewFiles)
        {
            events.FewFiles(files);
        }

        await using var inspector = AgentInspector.Start(_tunnels, events, _time);

        // The process has one set of loops: all tunnels have the same value.
        IAgentRunner runner;
        try
        {
            runner = _createRunner(_tunnels[0].Loops);
        }
        catch (IOException exception)
        {
            await error.WriteLineAsync($"tunnel2: {_tunnels[0].Loops ?? 1} event loops cannot be started (--loops): {exception.Message}");
            return AgentExitCode.InternalError;
        }

        var board = new StatusBoard(HelpText.VersionNumber, _time);
        await using StatusSocket? socket = StatusSocket.TryStart(_environment, board, _time);
        var set = new TunnelSet((options, leave) => RunTunnelAsync(runner, options, events, board, error, leave), stop);
        _set = set;
        events.MakeRoomFor(_tunnels.Length);
        set.Change([], inspector.Tunnels);
        using ServiceSupervision? supervision = ServiceSupervision.Find(
            _environment, Environment.ProcessId, _time, () => runner.IsServing, board.Describe);
        supervision?.Ready();
        await using CancellationTokenRegistration stopping = stop.UnsafeRegister(
            static self => ((ServiceSupervision?)self)?.Stopping(), supervision);
        int exitCode = await RunToEndAsync(set, inspector, board, events, stop);

        // It was asked to stop and stopped, so the result is 0. The lines show how each of several tunnels ended.
        return _tunnels.Length > 1 && stop.IsCancellationRequested ? AgentExitCode.Stopped : exitCode;
    }

    private async Task<int> RunToEndAsync(
        TunnelSet set, AgentInspector inspector, StatusBoard board, AgentEventWriter events, CancellationToken stop)
    {
        if (_file is not { } file)
        {
            return await set.Ended;
        }

        using var over = CancellationTokenSource.CreateLinkedTokenSource(stop);
        var reload = new TunnelFileReload(file, _environment, change => Apply(change, set, inspector, board, events), events);
        var watch = new TunnelFileWatch(() => TunnelFileWatch.Look(file.Path), reload.Run, _time);
        Task watching = watch.RunAsync(over.Token);
        int exitCode = await set.Ended;
        await over.CancelAsync();
        await watching;
        return exitCode;
    }

    /// <summary>Ends, begins and exchanges tunnels; those that are the same are not touched.</summary>
    private void Apply(
        TunnelFileChange change, TunnelSet set, AgentInspector inspector, StatusBoard board, AgentEventWriter events)
    {
        List<AgentOptions> started = [.. change.Added.Select(tunnel => inspector.Add(_prepare(tunnel.Options), null))];
        foreach (LoadedTunnel tunnel in change.Changed)
        {
            started.Add(inspector.Add(_prepare(tunnel.Options), set.Find(tunnel.Options.Name)?.Inspection));
        }

        foreach (string name in change.Removed)
        {
            inspector.Remove(name);
            board.Remove(name);
        }

        events.MakeRoomFor(set.Running + started.Count);
        set.Change([.. change.Removed, .. change.Changed.Select(static tunnel => tunnel.Options.Name)], started);
    }

    private static async Task<int> RunTunnelAsync(
        IAgentRunner runner,
        AgentOptions options,
        AgentEventWriter events,
        StatusBoard board,
        TextWriter error,
        CancellationToken stop)
    {
        try
        {
            return await runner.RunAsync(options, events.For(options.Name, board.Watch(options)), stop);
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

    private IAgentEventFormatter CreateFormatter()
    {
        bool isOne = _tunnels.Length == 1;
        IAgentEventFormatter common = Create(_tunnels[0], "");
        return isOne && _file is null
            ? common
            : new TunnelsEventFormatter(
                _tunnels.ToDictionary(
                    static options => options.Name, options => isOne ? common : Create(options, $"[{options.Name}] ")),
                common,
                name => Create(_set?.Find(name) ?? _tunnels[0], $"[{name}] "));

        static IAgentEventFormatter Create(AgentOptions options, string prefix) => options.Json
            ? new JsonEventFormatter(options.Server, options.Tls, options.Access)
            : new HumanEventFormatter(options.Server, options.Verbose, prefix: prefix, tls: options.Tls, access: options.Access);
    }
}
