using System.Collections.Concurrent;
using System.Diagnostics;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>One request of <see cref="SteadyVisitors"/>. Times are of <see cref="Stopwatch"/>.</summary>
internal sealed record SteadyRequest(long Started, long Ended, int Status, string Error)
{
    public TimeSpan Took => Stopwatch.GetElapsedTime(Started, Ended);

    /// <summary>Whether it was under way at a moment, or began right behind it: what was cut then was not seen to be cut yet.</summary>
    public bool WasUnderWayAt(long moment) => Ended >= moment && Started <= moment + (Stopwatch.Frequency / 10);
}

/// <summary>Visitors that send one request after the other until they are stopped, each on a connection of its own.</summary>
internal sealed class SteadyVisitors
{
    private readonly ConcurrentQueue<SteadyRequest> _requests = new();
    private readonly HttpClient _client;
    private readonly string _target;
    private readonly Task _running;
    private volatile bool _stopping;

    private SteadyVisitors(HttpClient client, int count, string target)
    {
        _client = client;
        _target = target;
        _running = Task.WhenAll(Enumerable.Range(0, count).Select(_ => Task.Run(RunAsync)));
    }

    /// <summary>Counts the requests that have ended.</summary>
    public AsyncCounter Ended { get; } = new("requests of steady visitors");

    public IReadOnlyCollection<SteadyRequest> Requests => _requests;

    /// <summary>Starts some.</summary>
    public static SteadyVisitors Start(TunnelFixture tunnel, int count, string target) => new(tunnel.CreateClient(), count, target);

    /// <summary>Lets each end its request, and gives all.</summary>
    public async Task<IReadOnlyCollection<SteadyRequest>> StopAsync()
    {
        _stopping = true;
        await _running;
        return _requests;
    }

    private async Task RunAsync()
    {
        while (!_stopping)
        {
            var started = Stopwatch.GetTimestamp();
            int status;
            string error;
            try
            {
                using var response = await _client.GetAsync(_target);
                await response.Content.ReadAsByteArrayAsync();
                status = (int)response.StatusCode;
                error = response.Headers.TryGetValues("Tunnel2-Error", out var values) ? string.Join(",", values) : "";
            }
            catch (Exception exception) when (exception is HttpRequestException or IOException or OperationCanceledException)
            {
                (status, error) = (0, exception.Message);
            }

            _requests.Enqueue(new SteadyRequest(started, Stopwatch.GetTimestamp(), status, error));
            Ended.Increment();
        }
    }
}
