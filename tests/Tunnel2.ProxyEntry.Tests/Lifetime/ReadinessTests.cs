using Tunnel2.ProxyEntry.Lifetime;

namespace Tunnel2.ProxyEntry.Tests.Lifetime;

public sealed class ReadinessTests
{
    [Fact]
    public void It_goes_forward_and_never_back()
    {
        var readiness = new Readiness();
        Assert.Equal((ReadinessPhase.Starting, "starting"), (readiness.Phase, readiness.Reason));

        readiness.MarkReady();
        Assert.Equal((ReadinessPhase.Ready, "ready"), (readiness.Phase, readiness.Reason));
        readiness.MarkDraining("asked to stop");
        readiness.MarkReady();
        Assert.Equal((ReadinessPhase.Draining, "asked to stop"), (readiness.Phase, readiness.Reason));
    }

    [Fact]
    public void Trouble_comes_and_goes_while_it_is_ready()
    {
        var readiness = new Readiness();
        readiness.SetTrouble(ReadinessTrouble.Loops, "event loop 1 hangs");
        Assert.Equal((false, "starting"), (readiness.IsReady, readiness.Reason));
        readiness.MarkReady();
        Assert.Equal((false, "event loop 1 hangs"), (readiness.IsReady, readiness.Reason));
        readiness.SetTrouble(ReadinessTrouble.Loops, null);
        Assert.Equal((true, "ready"), (readiness.IsReady, readiness.Reason));
        readiness.SetTrouble(ReadinessTrouble.Loops, "event loop 2 hangs");
        readiness.MarkDraining("asked to stop");
        Assert.Equal((false, "asked to stop"), (readiness.IsReady, readiness.Reason));
    }
}
