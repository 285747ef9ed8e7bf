using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Forwarding;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Requests;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Forwarding;

public sealed class ForwardWatchdogTests : IDisposable
{
    private static readonly TimeSpan _tick = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();
    private readonly ContainedFaults _faults;
    private readonly FailingObserver _observer = new();
    private readonly ForwardWatchdog _watchdog;
    private readonly TaskCompletionSource _taken = new();
    private readonly List<Task> _waits = [];

    public ForwardWatchdogTests()
    {
        _faults = new ContainedFaults(_time);

        var settings = SettingsFixture.LoadValid("Timeouts:BodyIdle=10ms");
        _watchdog = new ForwardWatchdog(settings, new RequestObservers([_observer]), _time, _faults);
    }

    [Fact]
    public async Task A_visitor_that_throws_when_it_is_cut_keeps_no_other_from_being_cut()
    {
        const int Broken = 2;
        var cut = new int[5];
        for (var i = 0; i < cut.Length; i++)
        {
            var number = i;
            WaitForVisitor(() =>
            {
                cut[number]++;
                if (number == Broken)
                {
                    throw new InvalidTimeZoneException();
                }
            });
        }

        for (var ticks = 1; ticks <= 3; ticks++)
        {
            _time.Advance(_tick);
            Assert.Equal(ticks, _faults.Count);
            Assert.All(cut, times => Assert.Equal(ticks, times));
        }

        await EndAsync();
    }

    [Fact]
    public async Task A_connection_whose_report_throws_keeps_no_other_from_being_cut()
    {
        var upgraded = new ForwardedRequest();
        upgraded.Begin(_time);
        upgraded.Phase = ForwardPhase.Upgraded;
        _watchdog.Add(upgraded);
        var cut = 0;
        WaitForVisitor(() => cut++);
        for (var ticks = 1; ticks <= 3; ticks++)
        {
            _time.Advance(_tick);
            Assert.Equal((ticks, ticks, ticks), (_observer.Calls, _faults.Count, cut));
        }

        _watchdog.Remove(upgraded);
        await EndAsync();
    }

    public void Dispose() => _watchdog.Dispose();

    private void WaitForVisitor(Action onAbort)
    {
        var request = new ForwardedRequest();
        request.Begin(_time);
        _waits.Add(_watchdog.WaitForVisitorAsync(new SampleExchange { OnAbort = onAbort }, request, _taken.Task).AsTask());
    }

    private Task EndAsync()
    {
        _taken.SetResult();
        return Task.WhenAll(_waits);
    }

    private sealed class FailingObserver : RequestObserver
    {
        public int Calls { get; private set; }

        public override RequestMoments Moments => RequestMoments.Lasts;

        public override void OnLasts(ForwardedRequest request)
        {
            Calls++;
            throw new InvalidTimeZoneException();
        }
    }
}
