using System.Text;
using Tunnel2.Client.Live;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Client.Tests.Live;

public sealed class RecordFilterTests
{
    private static bool Wants(
        string? name, string? status, string? minDuration, string sessionName = "web", int answered = 200, uint microseconds = 1000)
    {
        var mistakes = new List<string>();
        var filter = RecordFilter.Parse(name, status, minDuration, mistakes);
        Assert.Empty(mistakes);
        var record = new RequestRecord
        {
            SessionName = Encoding.ASCII.GetBytes(sessionName),
            Status = (ushort)answered,
            TotalMicroseconds = microseconds,
        };
        return filter.Wants(record);
    }

    [Theory]
    [InlineData(null, "web", true)]
    [InlineData("web", "web", true)]
    [InlineData("web", "web-1", false)]
    [InlineData("web-*", "web-1", true)]
    [InlineData("web-*", "web", false)]
    [InlineData("*", "anything", true)]
    [InlineData("-", "-", true)]
    public void A_name_is_the_whole_name_or_its_beginning_before_a_star(string? name, string session, bool wanted) =>
        Assert.Equal(wanted, Wants(name, null, null, session));

    [Theory]
    [InlineData("5xx", 500, true)]
    [InlineData("5XX", 599, true)]
    [InlineData("5xx", 999, true)]
    [InlineData("5xx", 499, false)]
    [InlineData("404,5xx", 404, true)]
    [InlineData("404, 5xx", 503, true)]
    [InlineData("404,5xx", 200, false)]
    [InlineData("400-403", 403, true)]
    [InlineData("400-403", 404, false)]
    [InlineData("4xx", 600, false)]
    [InlineData("999", 999, true)]
    [InlineData("1xx", 101, true)]
    [InlineData("0", 0, true)]
    [InlineData("0", 200, false)]
    public void A_status_is_a_number_a_class_or_a_range(string status, int answered, bool wanted) =>
        Assert.Equal(wanted, Wants(null, status, null, answered: answered));

    [Theory]
    [InlineData("200ms", 200_000u, true)]
    [InlineData("200ms", 199_999u, false)]
    [InlineData("1.5s", 1_500_000u, true)]
    [InlineData("1.5s", 1_499_999u, false)]
    [InlineData("500us", 500u, true)]
    [InlineData("1m", 59_999_999u, false)]
    public void A_duration_has_a_unit(string shortest, uint microseconds, bool wanted) =>
        Assert.Equal(wanted, Wants(null, null, shortest, microseconds: microseconds));

    [Theory]
    [InlineData("a*b", null, null)]
    [InlineData("a\nb", null, null)]
    [InlineData(null, "xxx", null)]
    [InlineData(null, "5x", null)]
    [InlineData(null, "0xx", null)]
    [InlineData(null, "6xx", null)]
    [InlineData(null, "9xx", null)]
    [InlineData(null, "200,6xx", null)]
    [InlineData(null, "6xx-7xx", null)]
    [InlineData(null, "1", null)]
    [InlineData(null, "99", null)]
    [InlineData(null, "40-404", null)]
    [InlineData(null, "503-500", null)]
    [InlineData(null, "1000", null)]
    [InlineData(null, "1-2-3", null)]
    [InlineData(null, "", null)]
    [InlineData(null, null, "200")]
    [InlineData(null, null, "ms")]
    [InlineData(null, null, "-1ms")]
    [InlineData(null, null, "1e9s")]
    [InlineData(null, null, "99999999s")]
    public void What_makes_no_sense_is_one_mistake(string? name, string? status, string? minDuration)
    {
        var mistakes = new List<string>();
        RecordFilter.Parse(name, status, minDuration, mistakes);
        Assert.Single(mistakes);
    }
}
