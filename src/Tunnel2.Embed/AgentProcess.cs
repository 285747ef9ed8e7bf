using Microsoft.Extensions.Logging;
using Tunnel2.Client.Core.Session;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Embed;

/// <summary>What all tunnels of a host share: event loops, and limits of the process. Started with the first tunnel. Thread-safe.</summary>
internal sealed class AgentProcess : IDisposable
{
    private readonly Lock _gate = new();
    private readonly ILoggerFactory _loggers;
    private readonly TimeProvider _time;
    private readonly Func<IEngine> _start;
    private IEngine? _engine;
    private TunnelAgent? _agent;
    private bool _isDisposed;

    /// <param name="loggers">Where faults are logged.</param>
    /// <param name="time">The agents' clock.</param>
    /// <param name="start">Starts the engine; null: the one that <c>TUNNEL2_ENGINE</c> names.</param>
    public AgentProcess(ILoggerFactory loggers, TimeProvider time, Func<IEngine>? start = null)
    {
        _loggers = loggers;
        _time = time;
        _start = start ?? (static () => EngineSetup.Start(
            EngineVariables.Read(Environment.GetEnvironmentVariable), loops: 1, most: EngineSetup.AutoLoops));
    }

    /// <summary>What runs tunnels.</summary>
    /// <exception cref="IOException">The system has no descriptors for an event loop.</exception>
    public IAgentRunner Get()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            if (_agent is null)
            {
                _engine = _start();
                var logger = _loggers.CreateLogger(EmbedLog.Category);
                _engine.Faults.Report = (place, count, fault) => ThreadPool.UnsafeQueueUserWorkItem(
                    static line => EmbedLog.Contained(line.Logger, line.Place, line.Count, line.Fault),
                    (Logger: logger, Place: place, Count: count, Fault: fault),
                    preferLocal: false);
                _agent = new TunnelAgent(_engine, _time);
            }

            return _agent;
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_gate)
        {
            _isDisposed = true;
            _engine?.Dispose();
        }
    }
}
