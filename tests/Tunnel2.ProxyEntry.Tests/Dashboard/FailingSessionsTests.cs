using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Tests.Dashboard;

public sealed class FailingSessionsTests
{
    private static readonly ushort _refused = RequestErrorCodes.Number("backend-refused");
    private static readonly ushort _lost = RequestErrorCodes.Number("uplink-lost");

    private readonly FailingSessions _sessions = new();

    [Fact]
    public void A_session_whose_requests_fail_is_reported_with_the_leg_the_share_and_since_when()
    {
        Add("web", second: 1, good: 63, failed: 37, _refused);
        Add("shop", second: 1, good: 100, failed: 0, 0);
        var alert = Assert.Single(Look(1));
        Assert.Equal(("failing", "web", "backend", "backend-refused", 0.37, 1000L),
            (alert.Kind, alert.Subject, alert.Leg, alert.Code, alert.Share ?? 0, alert.Since));
        Add("web", second: 2, good: 63, failed: 37, _refused);
        Assert.Equal(1000, Assert.Single(Look(3)).Since);
    }

    [Theory]
    [InlineData(0, 3, true)]
    [InlineData(0, 2, false)]
    [InlineData(27, 3, true)]
    [InlineData(100, 3, false)]
    public void Few_failures_or_a_small_share_are_no_alert(int good, int failed, bool isOne)
    {
        Add("web", 1, good, failed, _refused);
        Assert.Equal(isOne ? 1 : 0, Look(1).Count);
    }

    [Fact]
    public void The_leg_with_the_most_failures_is_reported()
    {
        Add("web", 1, 0, 5, _refused);
        Add("web", 1, 0, 9, _lost);
        Assert.Equal(("uplink", "uplink-lost"), (Look(1)[0].Leg, Look(1)[0].Code));
    }

    [Fact]
    public void What_visitors_do_wrong_is_no_alert()
    {
        Add("web", 1, 0, 100, RequestErrorCodes.VisitorLeft);
        Add("web", 1, 0, 100, RequestErrorCodes.Number("bad-request"));
        Assert.Empty(Look(1));
    }

    [Theory]
    [InlineData("login-required", false)]
    [InlineData("address-not-allowed", false)]
    [InlineData("too-many-logins", false)]
    [InlineData("token-expired", false)]
    [InlineData("sign-in-required", false)]
    [InlineData("token-unchecked", true)]
    [InlineData("unknown-name", false)]
    [InlineData("rate-limit", true)]
    [InlineData("stream-limit", true)]
    public void What_access_rules_refuse_is_no_alert_and_what_a_limit_refuses_is_one(string code, bool isOne)
    {
        Add("web", 1, 0, 100, RequestErrorCodes.Number(code));
        Assert.Equal(isOne ? 1 : 0, Look(1).Count);
    }

    [Fact]
    public void An_alert_ends_when_requests_succeed_again_and_a_later_one_begins_anew()
    {
        Add("web", 1, 0, 10, _refused);
        Assert.Single(Look(1));
        Add("web", 20, 1000, 0, 0);
        Assert.Empty(Look(20));
        Add("web", 40, 0, 100, _refused);
        Assert.Equal(40_000, Assert.Single(Look(40)).Since);
    }

    [Fact]
    public void An_alert_ends_when_no_request_comes_any_more()
    {
        Add("web", 1, 0, 10, _refused);
        Assert.Single(Look(10));
        Assert.Empty(Look(100));
    }

    [Fact]
    public void There_is_a_bound_of_sessions_and_calm_ones_make_room()
    {
        for (var i = 0; i < FailingSessions.MostSessions + 10; i++)
        {
            Add($"s{i}", 1, 0, 10, _refused);
        }

        Assert.Equal(FailingSessions.MostSessions, Look(1).Count);
        Assert.Empty(Look(200));
        Add("late", 201, 0, 10, _refused);
        Assert.Equal("late", Assert.Single(Look(201)).Subject);
    }

    /// <summary>Otherwise it would be one of the server's own errors here: those of agents are of no session.</summary>
    [Fact]
    public void Each_refusal_of_a_session_has_a_number_in_records() => Assert.DoesNotContain(
        ProxyErrorCatalog.All,
        static info => info.IsRefusal && !info.Code.StartsWith("uplink-", StringComparison.Ordinal)
            && RequestErrorCodes.Number(info.Code) == RequestErrorCodes.Other);

    [Fact]
    public void Each_error_has_the_leg_of_the_catalog()
    {
        foreach (var info in ProxyErrorCatalog.All)
        {
            var number = RequestErrorCodes.Number(info.Code);
            Assert.Equal(number == RequestErrorCodes.Other ? ProxyErrorLeg.Entry : info.Leg, FailingSessions.LegOf(number));
        }

        Assert.Equal(ProxyErrorLeg.Backend, FailingSessions.LegOf(RequestErrorCodes.BackendStatus));
        Assert.Equal(["visitor", "entry", "uplink", "backend"], Enum.GetValues<ProxyErrorLeg>().Select(FailingSessions.NameOf));
    }

    private List<Alert> Look(long second) => _sessions.Look(second * WatermarkFilter.Second);

    private void Add(string session, long second, int good, int failed, ushort code)
    {
        var cell = new WindowCell();
        for (var i = 0; i < good + failed; i++)
        {
            cell.Add(new RequestSample(second * WatermarkFilter.Second, 0, 1000, 0, 0, i < good ? (ushort)0 : code));
        }

        _sessions.Add(session, second * WatermarkFilter.Second, cell);
    }
}
