using System.Net;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

public sealed class AdmissionGuardTests
{
    private readonly ManualTimeProvider _time = new();

    private static void Observe(AdmissionGuard guard, double memory, double cpu)
    {
        for (int i = 0; i < 50; i++)
        {
            guard.Observe(new ContainerReading(memory, cpu));
        }
    }

    [Fact]
    public void It_closes_above_75_percent_and_opens_again_only_below_65()
    {
        var guard = new AdmissionGuard(10, 1000, _time);
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

    [Fact]
    public void A_single_spike_closes_nothing()
    {
        var guard = new AdmissionGuard(10, 1000, _time);
        Observe(guard, 0.3, 0.3);
        guard.Observe(new ContainerReading(0.3, 1.0));
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
    }

    [Fact]
    public void One_address_uses_up_its_own_rate_and_gets_it_back_with_time()
    {
        var guard = new AdmissionGuard(1000, 10, _time);
        Assert.Equal(20, Enumerable.Range(0, 50).Count(_ => guard.TryAdmit(IPAddress.Loopback) == Admission.Admitted));
        Assert.Equal(Admission.AddressRate, guard.TryAdmit(IPAddress.Loopback));
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.IPv6Loopback));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(10, Enumerable.Range(0, 50).Count(_ => guard.TryAdmit(IPAddress.Loopback) == Admission.Admitted));
    }

    [Fact]
    public void Connections_are_limited_and_given_back()
    {
        var guard = new AdmissionGuard(1, 1000, _time);
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
        Assert.Equal(Admission.Full, guard.TryAdmit(IPAddress.Loopback));
        guard.Release();
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
        Assert.Equal(1, guard.Connections);
    }
}
