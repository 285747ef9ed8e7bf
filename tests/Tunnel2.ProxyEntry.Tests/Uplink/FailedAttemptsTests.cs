using System.Net;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

public sealed class FailedAttemptsTests
{
    private static readonly IPAddress _address = IPAddress.Parse("192.0.2.7");
    private readonly ManualTimeProvider _time = new();

    [Fact]
    public void Failures_use_up_what_time_gives_back()
    {
        var attempts = Create(4);
        for (var i = 0; i < 4; i++)
        {
            Assert.True(attempts.MayTry(_address, out _));
            attempts.Note(_address);
        }

        Assert.False(attempts.MayTry(_address, out var wait));
        Assert.Equal(TimeSpan.FromSeconds(15), wait);
        _time.Advance(wait - TimeSpan.FromSeconds(1));
        Assert.False(attempts.MayTry(_address, out wait));
        Assert.InRange(wait.TotalMilliseconds, 1000, 1001);
        _time.Advance(wait);
        Assert.True(attempts.MayTry(_address, out _));
        attempts.Note(_address);
        Assert.False(attempts.MayTry(_address, out _));
        _time.Advance(TimeSpan.FromHours(1));
        attempts.Note(_address);
        Assert.True(attempts.MayTry(_address, out _));
    }

    [Theory]
    [InlineData("192.0.2.7", "192.0.2.8", false)]
    [InlineData("192.0.2.7", "::ffff:192.0.2.7", true)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:2:ffff::2", true)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:3::1", false)]
    [InlineData("::1", "0.0.0.0", false)]
    public void Addresses_of_one_customer_count_together(string failed, string other, bool together)
    {
        var attempts = Create(1);
        attempts.Note(IPAddress.Parse(failed));
        Assert.Equal(!together, attempts.MayTry(IPAddress.Parse(other), out _));
    }

    [Fact]
    public void The_table_is_bounded_and_forgets_the_oldest()
    {
        var attempts = Create(1);
        for (var i = 0; i < FailedAttempts.MaxAddresses + 100; i++)
        {
            attempts.Note(new IPAddress([10, (byte)(i >> 16), (byte)(i >> 8), (byte)i]));
        }

        Assert.Equal(FailedAttempts.MaxAddresses, attempts.Count);
        Assert.True(attempts.MayTry(IPAddress.Parse("10.0.0.99"), out _));
        Assert.False(attempts.MayTry(IPAddress.Parse("10.0.0.100"), out _));
        _time.Advance(TimeSpan.FromMinutes(1));
        attempts.Note(_address);
        Assert.Equal(1, attempts.Count);
    }

    [Fact]
    public void Switched_off_no_request_waits()
    {
        var attempts = Create(0);
        for (var i = 0; i < 100; i++)
        {
            attempts.Note(_address);
        }

        Assert.True(attempts.MayTry(_address, out _));
        Assert.Equal(0, attempts.Count);
    }

    private FailedAttempts Create(int perMinute) => new(SettingsFixture.LoadValid($"Uplink:FailuresPerMinute={perMinute}"), _time);
}
