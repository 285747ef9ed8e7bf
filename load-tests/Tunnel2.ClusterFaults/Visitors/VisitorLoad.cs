using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using Tunnel2.ClusterFaults.Cluster;
using Tunnel2.TestUtilities;

namespace Tunnel2.ClusterFaults.Visitors;

/// <summary>
/// Visitors who come at a fixed rate, also while those before them wait, through a balancer with health checks: each on a new
/// connection, to the next node that is ready, and to the one after it when that one takes no connection. Nothing is repeated once it was
/// sent. Every second one uploads a body that is echoed. Every byte of the answer is compared.
/// </summary>
internal sealed class VisitorLoad : IAsyncDisposable
{
    private const int Length = 2_000;

    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan _connectPatience = TimeSpan.FromSeconds(1);

    private readonly FaultCluster _cluster;
    private readonly IReadOnlyList<string> _names;
    private readonly int _rate;
    private readonly CancellationTokenSource _stop = new();
    private readonly ConcurrentQueue<VisitResult> _results = new();
    private readonly Stopwatch _clock = Stopwatch.StartNew();
    private readonly Task _running;
    private int _passedOn;

    public VisitorLoad(FaultCluster cluster, IReadOnlyList<string> names, int rate)
    {
        _cluster = cluster;
        _names = names;
        _rate = rate;
        _running = Task.Run(RunAsync);
    }

    /// <summary>Since the first visitor.</summary>
    public TimeSpan Elapsed => _clock.Elapsed;

    /// <summary>Connections that a node did not take, so that the next one got them.</summary>
    public int PassedOn => Volatile.Read(ref _passedOn);

    /// <summary>No further visitors; those who have come are waited for.</summary>
    public async Task<IReadOnlyList<VisitResult>> StopAsync()
    {
        await _stop.CancelAsync();
        await _running;
        return [.. _results];
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await StopAsync();
        _stop.Dispose();
    }

    private async Task RunAsync()
    {
        var under = new List<Task>();
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(5));
        for (var number = 0; !_stop.IsCancellationRequested;)
        {
            for (var due = (int)(_clock.Elapsed.TotalSeconds * _rate); number < due; number++)
            {
                var mine = number;
                under.Add(Task.Run(() => VisitAsync(mine), CancellationToken.None));
            }

            under.RemoveAll(static task => task.IsCompletedSuccessfully);
            await timer.WaitForNextTickAsync(CancellationToken.None);
        }

        await Task.WhenAll(under);
    }

    private async Task VisitAsync(int number)
    {
        var started = TimeSpan.FromSeconds((double)number / _rate);

        // Each node gets each name: the turns of the two have no common divisor.
        var name = _names[number / 3 % _names.Count];
        var (node, problem) = await TryAsync(number, name);
        _results.Enqueue(new VisitResult(name, node, started, _clock.Elapsed, problem));
    }

    private async Task<(string Node, string? Problem)> TryAsync(int number, string name)
    {
        using var limit = new CancellationTokenSource(_patience);
        foreach (var node in _cluster.Health.InTurn())
        {
            RawHttpClient connection;
            try
            {
                using var connecting = CancellationTokenSource.CreateLinkedTokenSource(limit.Token);
                connecting.CancelAfter(_connectPatience);
                connection = await RawHttpClient.ConnectAsync(node.Public, cancellationToken: connecting.Token);
            }
            catch (Exception exception) when (exception is SocketException or OperationCanceledException)
            {
                Interlocked.Increment(ref _passedOn);
                continue;
            }

            await using (connection)
            {
                try
                {
                    return (node.Id, await ExchangeAsync(connection, number, name, limit.Token));
                }
                catch (Exception exception) when (exception is IOException or SocketException or OperationCanceledException)
                {
                    return (node.Id, exception is OperationCanceledException ? "no answer in 30 s" : $"broken: {exception.GetType().Name}");
                }
            }
        }

        return ("-", "no node takes a connection");
    }

    private static async Task<string?> ExchangeAsync(RawHttpClient connection, int number, string name, CancellationToken cancellationToken)
    {
        var sent = new byte[Length];
        PatternBytes.Fill(sent, number % 2 == 0 ? 0 : number);
        if (number % 2 == 0)
        {
            await connection.SendRequestAsync($"/bytes/{Length}", $"{name}.localhost", fields: "Connection: close\r\n");
        }
        else
        {
            await connection.SendRequestAsync(
                "/echo", $"{name}.localhost", "POST", string.Create(
                    CultureInfo.InvariantCulture, $"Connection: close\r\nContent-Length: {Length}\r\n"));
            await connection.WriteAsync(sent, cancellationToken);
        }

        var head = await connection.ReadFinalHeadAsync(cancellationToken);
        var body = await connection.ReadBodyAsync(head, cancellationToken: cancellationToken);
        return head.StatusCode != 200 ? $"{head.StatusCode} {head["Tunnel2-Error"]}"
            : body.Ending != ConnectionEnding.Complete ? $"truncated after {body.Bytes.Length} bytes"
            : body.Bytes.AsSpan().SequenceEqual(sent) ? null
            : "a wrong body";
    }
}
