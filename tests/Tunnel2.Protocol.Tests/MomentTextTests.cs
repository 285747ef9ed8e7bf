using System.Globalization;

namespace Tunnel2.Protocol.Tests;

public sealed class MomentTextTests
{
    [Theory]
    [InlineData("90m", "2026-01-01T01:30:00Z")]
    [InlineData("12h", "2026-01-01T12:00:00Z")]
    [InlineData("30d", "2026-01-31T00:00:00Z")]
    [InlineData("2030-02-03", "2030-02-03T00:00:00Z")]
    [InlineData("2030-02-03T04:05Z", "2030-02-03T04:05:00Z")]
    [InlineData("2030-02-03T04:05:06+01:00", "2030-02-03T03:05:06Z")]
    [InlineData("-1d", null)]
    [InlineData("d", null)]
    [InlineData("99999d", "2299-10-16T00:00:00Z")]
    [InlineData("9999999d", null)]
    [InlineData("3w", null)]
    [InlineData("2030-13-01", null)]
    public void An_end_is_a_time_from_now_or_a_date(string text, string? expected)
    {
        var now = new DateTimeOffset(2026, 1, 1, 0, 0, 0, TimeSpan.Zero);
        DateTimeOffset? moment = expected is null ? null : DateTimeOffset.Parse(expected, CultureInfo.InvariantCulture);
        Assert.Equal(moment, MomentText.Parse(text, now));
    }
}
