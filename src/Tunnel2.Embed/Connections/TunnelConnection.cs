using System.Globalization;
using System.IO.Pipelines;
using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.Embed.Connections;

/// <summary>
/// A connection within the process, as Kestrel sees it: two pipes, whose other ends the agent has (<see cref="Agent"/>). Kestrel's side
/// continues on the pool, the agent's side on its event loop: no code of the app runs there.
/// </summary>
internal sealed class TunnelConnection : ConnectionContext, IConnectionIdFeature, IConnectionTransportFeature, IConnectionItemsFeature,
    IConnectionLifetimeFeature, IConnectionEndPointFeature, ITunnelConnectionFeature
{
    /// <summary>Bytes in a pipe from which on its writer waits, and below which it continues.</summary>
    private const int PauseAt = 64 * 1024;

    private const int ResumeAt = PauseAt / 2;

    private static long _lastId = DateTime.UtcNow.Ticks;

    private readonly CancellationTokenSource _closed = new();
    private int _isClosed;

    /// <param name="endPoint">Where Kestrel listens.</param>
    /// <param name="home">Where the agent's side continues; null: on the pool.</param>
    public TunnelConnection(EndPoint endPoint, PipeScheduler? home)
    {
        var agentSide = home ?? PipeScheduler.ThreadPool;
        var toApp = new Pipe(OptionsOf(reader: PipeScheduler.ThreadPool, writer: agentSide));
        var toAgent = new Pipe(OptionsOf(reader: agentSide, writer: PipeScheduler.ThreadPool));
        Agent = new AgentTransport(this, toAgent.Reader, toApp.Writer, home);
        Transport = new DuplexPipe(toApp.Reader, toAgent.Writer);
        ConnectionId = string.Create(CultureInfo.InvariantCulture, $"{Interlocked.Increment(ref _lastId):X}");
        ConnectionClosed = _closed.Token;
        LocalEndPoint = endPoint;
        Features.Set<IConnectionIdFeature>(this);
        Features.Set<IConnectionTransportFeature>(this);
        Features.Set<IConnectionItemsFeature>(this);
        Features.Set<IConnectionLifetimeFeature>(this);
        Features.Set<IConnectionEndPointFeature>(this);
        Features.Set<ITunnelConnectionFeature>(this);
    }

    /// <summary>The agent's side.</summary>
    public AgentTransport Agent { get; }

    /// <inheritdoc/>
    public override string ConnectionId { get; set; }

    /// <inheritdoc/>
    public override IFeatureCollection Features { get; } = new FeatureCollection();

    /// <inheritdoc/>
    public override IDictionary<object, object?> Items { get; set; } = new ConnectionItems();

    /// <inheritdoc/>
    public override IDuplexPipe Transport { get; set; }

    /// <inheritdoc/>
    public override CancellationToken ConnectionClosed { get; set; }

    /// <inheritdoc/>
    public override EndPoint? LocalEndPoint { get; set; }

    /// <inheritdoc/>
    public override EndPoint? RemoteEndPoint { get; set; }

    /// <inheritdoc/>
    public override void Abort(ConnectionAbortedException abortReason) => Agent.Abort();

    /// <summary>Kestrel has finished with it: what it has written can still be read.</summary>
    public override ValueTask DisposeAsync()
    {
        Transport.Input.Complete();
        Transport.Output.Complete();
        FireClosed();
        return base.DisposeAsync();
    }

    /// <summary>Lets Kestrel know that the visitor has left, and through it the app. Returns at once.</summary>
    public void FireClosed()
    {
        if (Interlocked.Exchange(ref _isClosed, 1) == 0)
        {
            ThreadPool.UnsafeQueueUserWorkItem(static connection => connection.CancelClosed(), this, preferLocal: false);
        }
    }

    private static PipeOptions OptionsOf(PipeScheduler reader, PipeScheduler writer) => new(
        readerScheduler: reader,
        writerScheduler: writer,
        pauseWriterThreshold: PauseAt,
        resumeWriterThreshold: ResumeAt,
        useSynchronizationContext: false);

    private void CancelClosed()
    {
        try
        {
            _closed.Cancel();
        }
        catch (Exception)
        {
            // A callback of the app has a fault. No caller waits for it here, and the process must not end by it.
        }
    }
}
