using System.Globalization;
using Microsoft.Extensions.Logging.Console;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Session;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.Transport.Engine;
using AgentOptions = Tunnel2.Client.Core.Configuration.AgentOptions;

namespace Tunnel2.Quickstart;

/// <summary>ProxyEntry and an agent in this process, connected over loopback as over a network.</summary>
internal sealed class QuickstartTunnel : IAsyncDisposable
{
    private const string Name = "demo";
    private static readonly TimeSpan _readyLimit = TimeSpan.FromSeconds(10);

    /// <summary>How long running requests get when the quick start is stopped; a WebSocket would never end by itself.</summary>
    private static readonly TimeSpan _drainLimit = TimeSpan.FromSeconds(2);

    private readonly CancellationTokenSource _stopAgent = new();
    private readonly AgentEventWriter _events;
    private Task<int> _agent = Task.FromResult(0);

    private QuickstartTunnel(ProxyEntryHost entry, AgentEventWriter events)
    {
        Entry = entry;
        _events = events;
    }

    public ProxyEntryHost Entry { get; }

    public Uri PublicUrl { get; private set; } = null!;

    /// <summary>Starts both; when the task ends, a request to the public URL works.</summary>
    /// <param name="backend">The service for the requests.</param>
    /// <param name="engine">The process's engine.</param>
    /// <param name="lines">Gets a line per request; a thread-safe writer.</param>
    /// <param name="notes">Gets notes about ports.</param>
    /// <exception cref="IOException">No port is available, or the agent could not connect.</exception>
    public static async Task<QuickstartTunnel> StartAsync(BackendTarget backend, IEngine engine, TextWriter lines, TextWriter notes)
    {
        var entry = await StartEntryAsync(backend, engine, notes).ConfigureAwait(false);
        var server = new ServerEndpoint("127.0.0.1", entry.UplinkEndPoint.Port);
        var tunnel = new QuickstartTunnel(
            entry, new AgentEventWriter(new HumanEventFormatter(server, verbose: true), lines, TimeProvider.System, wantsRequests: true));
        try
        {
            var events = new QuickstartEvents(tunnel._events);
            var options = new AgentOptions { Server = server, Name = Name, Upstream = backend };
            tunnel._agent = new TunnelAgent(engine, TimeProvider.System).RunAsync(options, events, tunnel._stopAgent.Token);
            tunnel.PublicUrl = await events.PublicUrl.WaitAsync(_readyLimit).ConfigureAwait(false);
            return tunnel;
        }
        catch (Exception exception)
        {
            await tunnel.DisposeAsync().ConfigureAwait(false);
            throw exception is TimeoutException ? new IOException("The agent did not get ready in time.", exception) : exception;
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _stopAgent.CancelAsync().ConfigureAwait(false);
        await Task.WhenAny(_agent, Task.Delay(_drainLimit)).ConfigureAwait(false);
        await Entry.DisposeAsync().ConfigureAwait(false);
        await _agent.ConfigureAwait(false);
        await _events.DisposeAsync().ConfigureAwait(false);
        _stopAgent.Dispose();
    }

    private static async Task<ProxyEntryHost> StartEntryAsync(BackendTarget backend, IEngine engine, TextWriter notes)
    {
        try
        {
            return await StartEntryAsync(engine, port => Choose(port, backend, notes)).ConfigureAwait(false);
        }
        catch (IOException)
        {
            // Another process took the port between the check and its use.
            await notes.WriteLineAsync("A default port was taken at the last moment: using free ones.").ConfigureAwait(false);
            return await StartEntryAsync(engine, static _ => 0).ConfigureAwait(false);
        }
    }

    /// <summary>
    /// The port itself, or 0 (any) if it is taken or is the service's own, because requests would then go round in a loop.
    /// </summary>
    private static int Choose(int port, BackendTarget backend, TextWriter notes)
    {
        if (backend.Port != port && DefaultPort.IsFree(port))
        {
            return port;
        }

        notes.WriteLine(string.Create(CultureInfo.InvariantCulture, $"Port {port} is taken: using a free one instead."));
        return 0;
    }

    private static async Task<ProxyEntryHost> StartEntryAsync(IEngine engine, Func<int, int> choosePort)
    {
        var (settings, errors) = SettingsLoader.Load(
            new(SettingKeys.HttpListen, Loopback(choosePort(DefaultPort.Public))),
            new(SettingKeys.UplinkListen, Loopback(choosePort(DefaultPort.Uplink))),
            new(SettingKeys.AdminListen, Loopback(choosePort(DefaultPort.Admin))));
        if (settings is null)
        {
            throw new InvalidOperationException(SettingsErrorFormatter.Format(errors));
        }

        return await ProxyEntryHost.StartAsync(settings, engine, ConfigureLogging).ConfigureAwait(false);
    }

    private static string Loopback(int port) => string.Create(CultureInfo.InvariantCulture, $"127.0.0.1:{port}");

    /// <summary>As the server's log, but only failures, and apart from the lines for the user.</summary>
    private static void ConfigureLogging(ILoggingBuilder logging)
    {
        ProxyEntryCommand.ConfigureLogging(logging, LogLevel.Warning);
        logging.Services.Configure<ConsoleLoggerOptions>(static console => console.LogToStandardErrorThreshold = LogLevel.Trace);
    }
}
