using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Reload;

public sealed class ReloadLoopTests
{
    [Fact]
    public async Task What_throws_is_asked_again_and_keeps_no_other_from_being_asked()
    {
        var time = new ManualTimeProvider();
        var faults = new ContainedFaults(time);
        var (broken, sound) = (new Sample(fails: true), new Sample(fails: false));
        var loop = new ReloadLoop([broken, sound], time, faults);
        loop.Start();
        for (var i = 1; i <= 3; i++)
        {
            time.Advance(ReloadLoop.Period);
            await sound.Asked.WaitForAsync(i);
            Assert.Equal((i, i), (broken.Asked.Value, faults.Count));
        }

        await loop.DisposeAsync();
    }

    private sealed class Sample(bool fails) : IReloadable
    {
        public AsyncCounter Asked { get; } = new("looks");

        public void ReloadIfChanged()
        {
            Asked.Increment();
            if (fails)
            {
                throw new InvalidTimeZoneException();
            }
        }
    }
}
