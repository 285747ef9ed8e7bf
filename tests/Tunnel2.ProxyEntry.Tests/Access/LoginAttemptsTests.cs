using System.Net;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Access;

public sealed class LoginAttemptsTests
{
    private static readonly IPAddress _address = IPAddress.Parse("192.0.2.7");
    private readonly ManualTimeProvider _time = new();
    private readonly LoginBudget _session = new();

    [Fact]
    public void Attempts_are_used_up_and_time_gives_them_back()
    {
        var attempts = Create(4);
        Assert.Equal(4, Enumerable.Range(0, 9).Count(_ => attempts.TryTake(_address, _session, out TimeSpan _)));
        Assert.False(attempts.TryTake(_address, _session, out var wait));
        Assert.Equal(TimeSpan.FromSeconds(15), wait);
        _time.Advance(wait);
        Assert.True(attempts.TryTake(_address, _session, out _));
        Assert.False(attempts.TryTake(_address, _session, out _));
        _time.Advance(TimeSpan.FromHours(1));
        Assert.Equal(4, Enumerable.Range(0, 9).Count(_ => attempts.TryTake(_address, _session, out TimeSpan _)));
    }

    [Fact]
    public void What_is_given_back_can_be_taken_again_and_never_more_than_that()
    {
        var attempts = Create(1);
        for (var i = 0; i < 100; i++)
        {
            Assert.True(attempts.TryTake(_address, _session, out _));
            attempts.Return(_address, _session);
        }

        attempts.Return(_address, _session);
        Assert.True(attempts.TryTake(_address, _session, out _));
        Assert.False(attempts.TryTake(_address, _session, out _));
    }

    [Fact]
    public void A_session_gets_ten_times_as_many_from_all_addresses_and_no_other_session_pays()
    {
        var attempts = Create(2);
        var taken = 0;
        for (var i = 0; i < 100; i++)
        {
            taken += attempts.TryTake(IPAddress.Parse($"192.0.2.{i}"), _session, out _) ? 1 : 0;
        }

        Assert.Equal(20, taken);
        Assert.False(attempts.TryTake(_address, _session, out var wait));
        Assert.Equal(TimeSpan.FromSeconds(3), wait);
        Assert.True(attempts.TryTake(_address, new LoginBudget(), out _));
    }

    [Fact]
    public void An_address_that_is_not_known_counts_to_the_session()
    {
        var attempts = Create(1);
        Assert.Equal(10, Enumerable.Range(0, 50).Count(_ => attempts.TryTake(null, _session, out TimeSpan _)));
        Assert.Equal(0, attempts.Count);
    }

    [Theory]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:2:ffff::2", true)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:3::1", false)]
    [InlineData("192.0.2.7", "::ffff:192.0.2.7", true)]
    public void Addresses_of_one_customer_count_together(string first, string second, bool together)
    {
        var attempts = Create(1);
        Assert.True(attempts.TryTake(IPAddress.Parse(first), _session, out _));
        Assert.Equal(!together, attempts.TryTake(IPAddress.Parse(second), _session, out _));
    }

    [Fact]
    public void The_table_does_not_grow_beyond_its_bound()
    {
        var attempts = Create(5);
        for (var i = 0; i < LoginAttempts.MaxAddresses + 500; i++)
        {
            attempts.TryTake(new IPAddress([10, (byte)(i >> 16), (byte)(i >> 8), (byte)i]), new LoginBudget(), out _);
        }

        Assert.Equal(LoginAttempts.MaxAddresses, attempts.Count);
    }

    [Fact]
    public void Zero_is_no_limit()
    {
        var attempts = Create(0);
        Assert.True(Enumerable.Range(0, 1000).All(_ => attempts.TryTake(_address, _session, out TimeSpan _)));
        Assert.Equal(0, attempts.Count);
    }

    private LoginAttempts Create(int perMinute) =>
        new(SettingsFixture.LoadValid($"Access:FailuresPerMinute={perMinute}"), _time);
}
