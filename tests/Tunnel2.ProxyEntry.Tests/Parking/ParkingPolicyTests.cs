using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Parking;

public sealed class ParkingPolicyTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly InMemorySessionDirectory _directory;

    public ParkingPolicyTests() => _directory = new InMemorySessionDirectory(_time, TimeSpan.Zero);

    [Theory]
    [InlineData(0, 5)]
    [InlineData(59, 5)]
    [InlineData(60, null)]
    [InlineData(3600, null)]
    public async Task An_agent_that_was_lost_is_waited_for_as_long_as_it_is_likely_to_come_back(int secondsAway, int? waits)
    {
        var policy = Create();
        await LeaveAsync(saysGoodbye: false);
        AssertWaits(policy, secondsAway, waits);
    }

    [Theory]
    [InlineData(0, 5)]
    [InlineData(4, 1)]
    [InlineData(5, null)]
    [InlineData(60, null)]
    public async Task An_agent_that_said_goodbye_is_waited_for_until_a_restart_would_be_over(int secondsAway, int? waits)
    {
        var policy = Create();
        await LeaveAsync(saysGoodbye: true);
        AssertWaits(policy, secondsAway, waits);
    }

    [Theory]
    [InlineData(0, 5)]
    [InlineData(29, 5)]
    [InlineData(30, null)]
    public void After_a_start_agents_of_the_process_before_are_waited_for(int secondsSinceStart, int? waits) =>
        AssertWaits(Create(), secondsSinceStart, waits);

    [Fact]
    public void Where_waiting_is_off_no_request_waits() => AssertWaits(Create("Timeouts:Park=off"), 0, null);

    [Fact]
    public async Task An_agent_that_is_elsewhere_in_the_cluster_is_waited_for_also_after_another_was_here()
    {
        var policy = Create();
        AssertWaits(policy, 3600, 5, isInCluster: true);
        await LeaveAsync(saysGoodbye: true);
        AssertWaits(policy, 3600, 5, isInCluster: true);
        AssertWaits(Create("Timeouts:Park=off"), 0, null, isInCluster: true);
    }

    [Fact]
    public async Task An_agent_that_the_cluster_expects_back_is_waited_for()
    {
        var policy = Create();
        AssertWaits(policy, 3600, 3, awaitedFor: 3);
        AssertWaits(policy, 0, 5, awaitedFor: 3600);
        AssertWaits(policy, 0, null, awaitedFor: 0);
        await LeaveAsync(saysGoodbye: true);
        AssertWaits(policy, 1, 4, awaitedFor: 2);

        // Its agent was at another node since.
        AssertWaits(policy, 3600, 2, awaitedFor: 2);
        AssertWaits(Create("Timeouts:Park=off"), 0, null, awaitedFor: 2);
    }

    [Fact]
    public void The_limit_can_be_set() => AssertWaits(Create("Timeouts:Park=20s"), 0, 20);

    private ParkingPolicy Create(params string[] settings) => new(SettingsFixture.LoadValid(settings), _directory, _time);

    private async Task LeaveAsync(bool saysGoodbye)
    {
        // Past the phase in which every name is waited for.
        _time.Advance(ParkingPolicy.StartPhase);
        var registration = await _directory.RegisterAsync(Sample.Session("web"), CancellationToken.None);
        if (saysGoodbye)
        {
            await _directory.MarkLeavingAsync("web", registration.Epoch, CancellationToken.None);
        }

        await _directory.UnregisterAsync("web", registration.Epoch, true, CancellationToken.None);
    }

    private void AssertWaits(ParkingPolicy policy, int secondsLater, int? expected, bool isInCluster = false, int? awaitedFor = null)
    {
        _time.Advance(TimeSpan.FromSeconds(secondsLater));
        int? waits = policy.TryGetDeadline(
            "web", isInCluster, awaitedFor is { } rest ? TimeSpan.FromSeconds(rest) : null, out var deadline, out _)
            ? (int)TimeSpan.FromTicks(deadline - _time.GetTimestamp()).TotalSeconds
            : null;
        Assert.Equal(expected, waits);
    }
}
