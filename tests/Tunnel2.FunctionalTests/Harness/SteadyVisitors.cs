using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>
/// Visitors who come all the time: at a fixed rate, also while those before them wait (open loop), or some who each ask again as soon
/// as they have their answer. Every second request uses a connection that an earlier one left open, as browsers do; nothing is repeated.
/// </summary>
internal sealed class SteadyVisitors : IAsyncDisposable
{
    private const int BodyLength = 2_000;
    private static readonly string _pattern = $"/bytes/{BodyLength}";
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(20);

    private readonly IPEndPoint _entry;
    private readonly Func<int, string> _host;
    private readonly string _target;
    private readonly CancellationTokenSource _stop = new();
    private readonly ConcurrentBag<RawHttpClient> _idle = [];
    private readonly ConcurrentQueue<SteadyResult> _results = new();
    private readonly Stopwatch _clock = Stopwatch.StartNew();
    private readonly Task _running;

    private SteadyVisitors(IPEndPoint entry, Func<int, string> host, string target, Func<SteadyVisitors, Task> run)
    {
        _entry = entry;
        _host = host;
        _target = target;
        _running = run(this);
    }

    /// <summary>Requests that were answered, well or not.</summary>
    public AsyncCounter Ended { get; } = new("requests that ended");

    /// <summary>Since the first visitor.</summary>
    public TimeSpan Elapsed => _clock.Elapsed;

    /// <summary>What has ended so far.</summary>
    public IReadOnlyList<SteadyResult> Results => [.. _results];

    /// <summary>Lets them come at a rate.</summary>
    /// <param name="entry">The public listener.</param>
    /// <param name="rate">Visitors a second.</param>
    /// <param name="host">The Host of the visitor with a number.</param>
    public static SteadyVisitors Start(IPEndPoint entry, int rate, Func<int, string> host) =>
        new(entry, host, _pattern, visitors => visitors.RunAsync(rate));

    /// <summary>Lets so many come again and again.</summary>
    /// <param name="entry">The public listener.</param>
    /// <param name="count">Visitors.</param>
    /// <param name="host">Their Host.</param>
    /// <param name="target">What they ask for.</param>
    public static SteadyVisitors StartInTurn(IPEndPoint entry, int count, string host, string target) =>
        new(entry, _ => host, target, visitors => visitors.RunInTurnAsync(count));

    /// <summary>Waits for so many more requests to end.</summary>
    public Task MoreAsync(int count) => Ended.WaitForAsync(Ended.Value + count, TimeSpan.FromSeconds(30));

    /// <summary>No further visitors; those who have come are waited for.</summary>
    public async Task<IReadOnlyList<SteadyResult>> StopAsync()
    {
        await _stop.CancelAsync();
        await _running;
        return Results;
    }

    public async ValueTask DisposeAsync()
    {
        await StopAsync();
        while (_idle.TryTake(out var connection))
        {
            await connection.DisposeAsync();
        }

        _stop.Dispose();
    }

    private async Task RunAsync(int rate)
    {
        var under = new List<Task>();
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(5));
        for (var number = 0; !_stop.IsCancellationRequested;)
        {
            for (var due = (int)(_clock.Elapsed.TotalSeconds * rate); number < due; number++)
            {
                var mine = number;
                under.Add(Task.Run(() => VisitAsync(mine, TimeSpan.FromSeconds((double)mine / rate)), CancellationToken.None));
            }

            under.RemoveAll(static task => task.IsCompletedSuccessfully);
            await timer.WaitForNextTickAsync(CancellationToken.None);
        }

        await Task.WhenAll(under);
    }

    private Task RunInTurnAsync(int count)
    {
        var number = 0;
        return Task.WhenAll(Enumerable.Range(0, count).Select(_ => Task.Run(async () =>
        {
            while (!_stop.IsCancellationRequested)
            {
                await VisitAsync(Interlocked.Increment(ref number), _clock.Elapsed);
            }
        })));
    }

    private async Task VisitAsync(int number, TimeSpan started)
    {
        var tried = _clock.Elapsed;
        var problem = await TryAsync(number, () => tried = _clock.Elapsed);
        _results.Enqueue(new SteadyResult(started, tried, _clock.Elapsed, problem));
        Ended.Increment();
    }

    /// <param name="number">The visitor's number.</param>
    /// <param name="trying">Called before each look at a connection.</param>
    private async Task<string?> TryAsync(int number, Action trying)
    {
        var isReused = false;
        RawHttpClient? connection = null;
        try
        {
            while (number % 2 == 0 && !isReused && _idle.TryTake(out connection))
            {
                // One that the server closed while it was idle is seen to be so, by any client.
                trying();
                isReused = !connection.Socket.Poll(0, SelectMode.SelectRead);
                if (!isReused)
                {
                    await connection.DisposeAsync();
                    connection = null;
                }
            }

            if (connection is null)
            {
                trying();
                connection = await RawHttpClient.ConnectAsync(_entry);
            }
        }
        catch (SocketException exception) when (exception.SocketErrorCode is SocketError.ConnectionRefused or SocketError.ConnectionReset)
        {
            // Reset: the listener was closed between the two halves of the handshake.
            return SteadyResult.Refused;
        }

        using var limit = new CancellationTokenSource(_patience);
        try
        {
            var (head, body) = await connection.ExchangeAsync(_target, _host(number), cancellationToken: limit.Token);
            if (head.StatusCode != 200)
            {
                await connection.DisposeAsync();
                return $"{head.StatusCode} {head["Tunnel2-Error"]}";
            }

            if (body.Ending != ConnectionEnding.Complete || (_target == _pattern && body.Bytes.Length != BodyLength))
            {
                await connection.DisposeAsync();
                return $"truncated after {body.Bytes.Length} bytes ({body.Ending})";
            }

            if (_target == _pattern)
            {
                PatternBytes.Verify(body.Bytes, 0);
            }

            if (number % 2 == 0 && !"close".Equals(head["Connection"], StringComparison.OrdinalIgnoreCase))
            {
                _idle.Add(connection);
            }
            else
            {
                await connection.DisposeAsync();
            }

            return null;
        }
        catch (RawConnectionEndedException exception) when (isReused && exception.Received.Length == 0)
        {
            await connection.DisposeAsync();
            return SteadyResult.Crossed;
        }
        catch (IOException exception) when (
            isReused
                && exception.InnerException is SocketException { SocketErrorCode: SocketError.ConnectionReset or SocketError.Shutdown })
        {
            await connection.DisposeAsync();
            return SteadyResult.Crossed;
        }
        catch (Exception exception)
        {
            await connection.DisposeAsync();
            return $"{(isReused ? "on a used connection: " : "on a new connection: ")}{exception.GetType().Name}: {exception.Message}";
        }
    }
}
