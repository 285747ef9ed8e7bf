using Tunnel2.TestUtilities;
using Tunnel2.Transport.Supervision;

namespace Tunnel2.Transport.Tests.Supervision;

public sealed class ServiceSupervisionTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly TestManager? _manager =
        OperatingSystem.IsLinux() ? new TestManager($"@tunnel2-test-{Guid.NewGuid():N}") : null;

    private readonly Dictionary<string, string?> _environment = [];
    private bool _isServing = true;
    private string _description = "one";

    public void Dispose() => _manager?.Dispose();

    private TestManager Manager
    {
        get
        {
            Assert.SkipUnless(OperatingSystem.IsLinux(), "systemd's protocol");
            return _manager!;
        }
    }

    private ServiceSupervision? Find(int processId = 7) => ServiceSupervision.Find(
        name => name == "NOTIFY_SOCKET" && !_environment.ContainsKey(name) ? _manager?.Address : _environment.GetValueOrDefault(name),
        processId, _time, () => _isServing, () => _description);

    [Fact]
    public async Task The_manager_hears_of_the_start_of_changes_and_of_the_stop()
    {
        TestManager manager = Manager;
        using var supervision = Find()!;
        Assert.False(manager.HasMessage);
        supervision.Ready();
        supervision.Ready();
        Assert.Equal("READY=1\nSTATUS=one", await manager.ReceiveAsync());

        _time.Advance(TimeSpan.FromSeconds(10));
        Assert.False(manager.HasMessage);
        _description = "two\nMAINPID=1";
        _time.Advance(TimeSpan.FromSeconds(10));
        Assert.Equal("STATUS=two?MAINPID=1", await manager.ReceiveAsync());

        supervision.Stopping();
        supervision.Stopping();
        Assert.StartsWith("STOPPING=1\nSTATUS=", await manager.ReceiveAsync(), StringComparison.Ordinal);
        _description = "three";
        _time.Advance(TimeSpan.FromSeconds(30));
        Assert.False(manager.HasMessage);
    }

    [Fact]
    public async Task A_process_that_serves_gives_a_sign_three_times_in_the_manager_s_limit_and_one_that_does_not_gives_none()
    {
        TestManager manager = Manager;
        _environment["WATCHDOG_USEC"] = "9000000";
        using var supervision = Find()!;
        supervision.Ready();
        await manager.ReceiveAsync();
        for (var i = 0; i < 3; i++)
        {
            _time.Advance(TimeSpan.FromSeconds(3));
            Assert.Equal("WATCHDOG=1\n", await manager.ReceiveAsync());
        }

        _isServing = false;
        _time.Advance(TimeSpan.FromSeconds(60));
        Assert.False(manager.HasMessage);

        _isServing = true;
        supervision.Stopping();
        await manager.ReceiveAsync();
        _time.Advance(TimeSpan.FromSeconds(3));
        Assert.Equal("WATCHDOG=1\n", await manager.ReceiveAsync());

        supervision.Dispose();
        supervision.Stopping();
        _time.Advance(TimeSpan.FromSeconds(60));
        Assert.False(manager.HasMessage);
    }

    [Theory]
    [InlineData("WATCHDOG_PID", "8")]
    [InlineData("WATCHDOG_USEC", "")]
    [InlineData("WATCHDOG_USEC", "0")]
    [InlineData("WATCHDOG_USEC", "-1")]
    [InlineData("WATCHDOG_USEC", "1e6")]
    [InlineData("WATCHDOG_USEC", "99999999999999999999")]
    public async Task A_limit_that_is_not_for_this_process_or_no_number_asks_for_no_sign(string name, string value)
    {
        TestManager manager = Manager;
        _environment["WATCHDOG_USEC"] = "9000000";
        _environment[name] = value;
        using var supervision = Find()!;
        supervision.Ready();
        await manager.ReceiveAsync();
        _time.Advance(TimeSpan.FromSeconds(30));
        Assert.False(manager.HasMessage);
    }

    [Fact]
    public async Task The_limit_counts_where_it_names_this_process()
    {
        TestManager manager = Manager;
        _environment["WATCHDOG_USEC"] = "1";
        _environment["WATCHDOG_PID"] = "7";
        using var supervision = Find()!;
        supervision.Ready();
        await manager.ReceiveAsync();
        _time.Advance(TimeSpan.FromMilliseconds(10));
        Assert.Equal("WATCHDOG=1\n", await manager.ReceiveAsync());
    }

    [Theory]
    [InlineData("")]
    [InlineData("/")]
    [InlineData("@")]
    [InlineData("vsock:2:1")]
    [InlineData("relative.sock")]
    public void What_is_no_address_is_no_manager(string address)
    {
        _environment["NOTIFY_SOCKET"] = address;
        Assert.Null(Find());
        _environment["NOTIFY_SOCKET"] = "/" + new string('x', 200);
        Assert.Null(Find());
    }

    [Fact]
    public async Task A_manager_with_a_path_is_found_again_after_it_was_replaced_and_missed_without_harm()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "systemd's protocol");
        var path = Path.Combine(Path.GetTempPath(), $"t2-{Guid.NewGuid():N}");
        var notifier = ServiceNotifier.At(path)!;
        Assert.False(notifier.Send("A=1"));
        for (var i = 0; i < 2; i++)
        {
            using var manager = new TestManager(path);
            Assert.True(notifier.Send("B=1"));
            Assert.Equal("B=1", await manager.ReceiveAsync());
        }

        Assert.False(notifier.Send("C=1"));
    }

    [Fact]
    public void A_manager_that_does_not_read_holds_up_no_call()
    {
        TestManager manager = Manager;
        var notifier = ServiceNotifier.At(manager.Address)!;
        var taken = 0;
        while (taken < 100_000 && notifier.Send(new string('x', 1000)))
        {
            taken++;
        }

        Assert.InRange(taken, 1, 99_999);
    }
}
