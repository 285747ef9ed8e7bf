using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Health;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Health;

public sealed class ServiceCheckTests
{
    private static readonly BackendTarget _target = new(false, "127.0.0.1", 3000);

    private readonly Events _events = new();
    private readonly ManualTimeProvider _time = new();
    private int _changes;

    [Fact]
    public void The_first_check_decides_at_once()
    {
        using var well = Make();
        well.Note(null);
        Assert.Equal((ServiceState.Healthy, 1), (well.State, _changes));
        Assert.Empty(_events.Said);
        using var ill = Make();
        ill.Note("status 503");
        Assert.Equal(ServiceState.Unhealthy, ill.State);
        Assert.Equal(
            [
                (false, "The service at http://127.0.0.1:3000 does not pass its check (/check: status 503): "
                    + "other agents of the pool serve"),
            ],
            _events.Said);
    }

    [Fact]
    public void Later_only_several_in_a_row_decide()
    {
        using var check = Make();
        check.Note(null);
        check.Note("x");
        check.Note("x");
        check.Note(null);
        check.Note("x");
        check.Note("x");
        Assert.Equal((ServiceState.Healthy, 1), (check.State, _changes));
        check.Note("x");
        Assert.Equal((ServiceState.Unhealthy, 2), (check.State, _changes));
        check.Note(null);
        check.Note("x");
        check.Note(null);
        Assert.Equal(ServiceState.Unhealthy, check.State);
        check.Note(null);
        Assert.Equal((ServiceState.Healthy, 3), (check.State, _changes));
        Assert.Equal([false, true], _events.Said.Select(static one => one.IsHealthy));
    }

    [Fact]
    public async Task It_looks_at_the_start_and_after_each_interval()
    {
        var looks = new AsyncCounter("looks");
        using var check = new ServiceCheck(
            new HealthCheck("/check"), _target, _ =>
            {
                looks.Increment();
                return Task.FromResult<string?>(null);
            },
            _events, _time);
        check.Start();
        for (var i = 1; i < 4; i++)
        {
            await looks.WaitForAsync(i);
            await _time.ArmedTimers.WaitForAsync(1);
            Assert.Equal(i, looks.Value);
            _time.Advance(TimeSpan.FromSeconds(5));
        }

        await looks.WaitForAsync(4);
    }

    [Fact]
    public async Task A_look_that_fails_counts_as_a_failed_check()
    {
        var changed = new AsyncCounter("changes");
        using var check = new ServiceCheck(
            new HealthCheck("tcp"), _target, static _ => throw new InvalidOperationException("no such host"), _events, _time);
        check.Changed += () => changed.Increment();
        check.Start();
        await changed.WaitForAsync(1);
        Assert.Equal(ServiceState.Unhealthy, check.State);
        Assert.Contains("no such host", Assert.Single(_events.Said).Message, StringComparison.Ordinal);
    }

    private ServiceCheck Make()
    {
        var check = new ServiceCheck(new HealthCheck("/check"), _target, static _ => Task.FromResult<string?>(null), _events, _time);
        check.Changed += () => _changes++;
        return check;
    }

    private sealed class Events : IAgentEvents
    {
        public List<(bool IsHealthy, string Message)> Said { get; } = [];

        public bool WantsRequests => false;

        public void Connecting(ServerEndpoint server)
        {
        }

        public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream)
        {
        }

        public void ConnectionEnded(ConnectionEnd end)
        {
        }

        public void Reconnecting(TimeSpan delay)
        {
        }

        public void Draining()
        {
        }

        public void Stopped()
        {
        }

        public void RequestCompleted(RequestSummary request)
        {
        }

        public void ServiceChecked(BackendTarget upstream, bool isHealthy, string message) => Said.Add((isHealthy, message));
    }
}
