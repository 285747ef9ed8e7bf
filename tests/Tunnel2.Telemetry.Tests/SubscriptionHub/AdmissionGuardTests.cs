using System.Net;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>Each limit of the guard is reached, and then comes back.</summary>
public sealed class AdmissionGuardTests
{
    private static readonly AdmissionLimits _open = new() { ConnectionsPerSecond = 100_000, ConnectionsPerAddress = 100_000 };

    private readonly ManualTimeProvider _time = new();

    private AdmissionGuard Create(AdmissionLimits? limits = null, int maxConnections = 1000) => new(maxConnections, limits ?? _open, _time);

    private static void Observe(AdmissionGuard guard, double memory, double cpu, int threads = 10)
    {
        for (int i = 0; i < 50; i++)
        {
            guard.Observe(new ContainerReading(memory, cpu, threads));
        }
    }

    private static int CountAdmitted(AdmissionGuard guard, int tries, IPAddress? address = null) =>
        Enumerable.Range(0, tries).Count(_ => guard.TryAdmit(address ?? IPAddress.Loopback) == Admission.Admitted);

    [Fact]
    public void It_closes_above_75_percent_and_opens_again_only_below_65()
    {
        var guard = Create();
        Observe(guard, 0.74, 0.74);
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
        Observe(guard, 0.76, 0.5);
        Assert.Equal(Admission.Memory, guard.TryAdmit(IPAddress.Loopback));
        Observe(guard, 0.7, 0.9);
        Assert.Equal(Admission.Memory, guard.TryAdmit(IPAddress.Loopback));
        Observe(guard, 0.6, 0.7);
        Assert.Equal(Admission.Cpu, guard.TryAdmit(IPAddress.Loopback));
        Observe(guard, 0.6, 0.6);
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Each_share_is_what_was_set(bool isMemory)
    {
        var shares = new ShareLimits(0.4, 0.2);
        var guard = Create(isMemory ? _open with { Memory = shares, Smoothing = 1 } : _open with { Cpu = shares, Smoothing = 1 });
        Admission refused = isMemory ? Admission.Memory : Admission.Cpu;
        (double Use, bool IsPausing, Admission Answer)[] readings =
        [
            (0.3, false, Admission.Admitted), (0.31, true, Admission.Admitted), (0.4, true, Admission.Admitted), (0.41, true, refused),
            (0.21, true, refused), (0.2, false, Admission.Admitted), (0.3, false, Admission.Admitted),
        ];
        foreach ((double use, bool isPausing, Admission answer) in readings)
        {
            guard.Observe(isMemory ? new ContainerReading(use, 0) : new ContainerReading(0, use));
            Assert.Equal((use, isPausing, answer), (use, guard.IsPausing, guard.TryAdmit(IPAddress.Loopback)));
            Assert.Equal(isMemory ? (use, 0) : (0, use), guard.Use);
        }
    }

    [Fact]
    public void No_subscriber_is_refused_before_slow_ones_were_paused_for_a_reading()
    {
        var guard = Create(_open with { Smoothing = 1 });
        guard.Observe(new ContainerReading(1, 1));
        Assert.True(guard.IsPausing);
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
        guard.Observe(new ContainerReading(1, 1));
        Assert.Equal(Admission.Memory, guard.TryAdmit(IPAddress.Loopback));
    }

    [Theory]
    [InlineData(0.3, 6)]
    [InlineData(0.5, 4)]
    [InlineData(1, 2)]
    public void Smoothing_says_how_many_readings_it_takes(double smoothing, int readings)
    {
        var guard = Create(_open with { Smoothing = smoothing });
        int seen = 0;
        while (guard.TryAdmit(IPAddress.Loopback) == Admission.Admitted)
        {
            guard.Observe(new ContainerReading(0, 0.9));
            seen++;
        }

        Assert.Equal(readings, seen);
    }

    [Fact]
    public void A_single_spike_closes_nothing()
    {
        var guard = Create();
        Observe(guard, 0.3, 0.3);
        guard.Observe(new ContainerReading(0.3, 1.0));
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
    }

    [Fact]
    public void More_threads_than_set_close_it_until_there_are_nine_tenths()
    {
        var guard = Create(_open with { Threads = 100 });
        foreach ((int threads, Admission answer) in new[]
        {
            (100, Admission.Admitted), (101, Admission.Threads), (91, Admission.Threads), (90, Admission.Admitted),
            (100, Admission.Admitted),
        })
        {
            guard.Observe(new ContainerReading(0, 0, threads));
            Assert.Equal((threads, answer), (threads, guard.TryAdmit(IPAddress.Loopback)));
            Assert.False(guard.IsPausing);
        }
    }

    [Fact]
    public void One_address_uses_up_its_own_rate_and_gets_it_back_with_time()
    {
        var guard = Create(_open with { ConnectionsPerAddress = 10 });
        Assert.Equal(20, CountAdmitted(guard, 50));
        Assert.Equal(Admission.AddressRate, guard.TryAdmit(IPAddress.Loopback));
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.IPv6Loopback));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(10, CountAdmitted(guard, 50));
        _time.Advance(TimeSpan.FromHours(1));
        Assert.Equal(20, CountAdmitted(guard, 50));
    }

    [Fact]
    public void All_addresses_together_use_up_the_rate_and_get_it_back_with_time()
    {
        var guard = Create(_open with { ConnectionsPerSecond = 10 });
        Assert.Equal(20, Enumerable.Range(0, 50).Count(i => guard.TryAdmit(new IPAddress([10, 0, 0, (byte)i])) == Admission.Admitted));
        Assert.Equal(Admission.Rate, guard.TryAdmit(IPAddress.Loopback));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(10, CountAdmitted(guard, 50));
        _time.Advance(TimeSpan.FromHours(1));
        Assert.Equal(20, CountAdmitted(guard, 50));
    }

    [Fact]
    public void An_address_that_is_refused_uses_nothing_of_the_rate_of_all()
    {
        var guard = Create(_open with { ConnectionsPerSecond = 10, ConnectionsPerAddress = 1 });
        Assert.Equal(2, CountAdmitted(guard, 1000));
        Assert.Equal(18, Enumerable.Range(0, 50).Count(i => guard.TryAdmit(new IPAddress([10, 0, 0, (byte)i])) == Admission.Admitted));
    }

    [Theory]
    [InlineData("2001:db8::1", "2001:db8::ffff:1", false)]
    [InlineData("2001:db8::1", "2001:db8:0:1::1", true)]
    [InlineData("::ffff:10.0.0.1", "10.0.0.1", false)]
    [InlineData("::ffff:10.0.0.1", "::ffff:10.0.0.2", true)]
    public void An_IPv6_address_counts_as_its_network(string first, string second, bool areTwo)
    {
        var guard = Create(_open with { ConnectionsPerAddress = 1 });
        Assert.Equal(2, CountAdmitted(guard, 3, IPAddress.Parse(first)));
        Assert.Equal(areTwo ? Admission.Admitted : Admission.AddressRate, guard.TryAdmit(IPAddress.Parse(second)));
    }

    [Fact]
    public void Connections_are_limited_and_given_back()
    {
        var guard = Create(maxConnections: 1);
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
        Assert.Equal(Admission.Full, guard.TryAdmit(IPAddress.Loopback));
        guard.Release();
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
        Assert.Equal(1, guard.Connections);
    }
}
