using System.Net;
using System.Text;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Telemetry.Relay;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Live;

public sealed class RelayAdmissionTests
{
    private const int RefusedEvent = 4008;

    private static readonly IPAddress _address = IPAddress.Parse("192.0.2.7");

    private readonly ManualTimeProvider _time = new();
    private readonly RecordedLog<LivePlane> _log = new();

    [Fact]
    public void Without_a_token_in_the_settings_every_client_is_let_in()
    {
        var admission = Create(null);
        Assert.Equal(RelayStatus.Accepted, Admit(admission, ""));
        Assert.Equal(RelayStatus.Accepted, Admit(admission, "anything"));
    }

    [Fact]
    public void Only_the_token_is_let_in_and_the_log_names_the_address_and_no_token()
    {
        var admission = Create("s3cret");
        Assert.Equal(RelayStatus.Accepted, Admit(admission, "s3cret"));
        Assert.Equal(RelayStatus.NotAuthorized, Admit(admission, "S3cret"));
        Assert.Equal(RelayStatus.NotAuthorized, Admit(admission, ""));
        Assert.Equal(2, _log.Of(RefusedEvent).Count);
        Assert.All(_log.Of(RefusedEvent), line => Assert.Contains("192.0.2.7", line, StringComparison.Ordinal));
        Assert.All(_log.Of(RefusedEvent), line => Assert.DoesNotContain("3cret", line, StringComparison.Ordinal));
    }

    [Fact]
    public void An_address_that_failed_too_often_waits_with_the_right_token_too()
    {
        var admission = Create("s3cret");
        Assert.All(Enumerable.Range(0, 3), _ => Assert.Equal(RelayStatus.NotAuthorized, Admit(admission, "guess")));
        Assert.Equal(RelayStatus.TooManyClients, Admit(admission, "s3cret"));
        Assert.Equal(RelayStatus.Accepted, admission.Admit(IPAddress.Parse("192.0.2.8"), Encoding.UTF8.GetBytes("s3cret")));
        _time.Advance(TimeSpan.FromSeconds(20));
        Assert.Equal(RelayStatus.Accepted, Admit(admission, "s3cret"));
    }

    private static RelayStatus Admit(RelayAdmission admission, string token) =>
        admission.Admit(_address, Encoding.UTF8.GetBytes(token));

    private RelayAdmission Create(string? token) => new(
        token is null ? null : TokenHash.FromToken(token),
        new FailedAttempts(SettingsFixture.LoadValid("Uplink:FailuresPerMinute=3"), _time),
        _log);
}
