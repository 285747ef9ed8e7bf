using Tunnel2.ProxyEntry.Admin;

namespace Tunnel2.ProxyEntry.Tests.Admin;

public sealed class ReadinessTests
{
    [Fact]
    public void It_goes_forward_and_never_back()
    {
        var readiness = new Readiness();
        Assert.Equal((ReadinessPhase.Starting, "starting"), (readiness.Phase, readiness.Reason));

        readiness.SetStarting("waiting for the certificate");
        Assert.Equal("waiting for the certificate", readiness.Reason);
        readiness.MarkReady();
        readiness.SetStarting("again");
        Assert.Equal((ReadinessPhase.Ready, "ready"), (readiness.Phase, readiness.Reason));
        readiness.MarkDraining("asked to stop");
        readiness.MarkReady();
        Assert.Equal((ReadinessPhase.Draining, "asked to stop"), (readiness.Phase, readiness.Reason));
    }
}
