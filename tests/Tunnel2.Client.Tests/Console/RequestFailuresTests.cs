using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Console;

public sealed class RequestFailuresTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly List<AgentEvent> _posted = [];

    [Fact]
    public void The_first_failure_of_a_kind_is_logged_and_the_others_are_counted_until_there_are_none()
    {
        var failures = new RequestFailures(_time, _posted.Add);
        for (var i = 0; i < 421; i++)
        {
            failures.Note("backend", "connection refused");
        }

        failures.Note("agent", "too many requests at once");
        Assert.Equal([("backend", 1L, null), ("agent", 1L, null)], Told());

        _time.Advance(RequestFailures.Window);
        Assert.Equal([("backend", 420L, RequestFailures.Window)], Told());

        failures.Note("backend", "connection refused");
        Assert.Empty(_posted);
        _time.Advance(RequestFailures.Window);
        Assert.Equal([("backend", 1L, RequestFailures.Window)], Told());

        // Nothing for as long: the next one is news again.
        _time.Advance(RequestFailures.Window);
        Assert.Empty(_posted);
        failures.Note("backend", "connection refused");
        Assert.Equal([("backend", 1L, null)], Told());
    }

    [Theory]
    [InlineData(
        false, "[a] A request failed: backend: connection refused. More of these are counted (--verbose shows each)",
        "[a] Requests failed: backend: connection refused, 4,211 times in 10 s")]
    [InlineData(
        true, "\"leg\":\"backend\",\"error\":\"connection refused\",\"count\":1}",
        "\"leg\":\"backend\",\"error\":\"connection refused\",\"count\":4211,\"over_seconds\":10}")]
    public async Task Both_forms_say_what_failed_and_how_often(bool json, string first, string sum)
    {
        IAgentEventFormatter formatter = json
            ? new JsonEventFormatter(new ServerEndpoint("a", 1))
            : new HumanEventFormatter(new ServerEndpoint("a", 1), false, prefix: "[a] ");
        Assert.EndsWith(
            first, await WriteAsync(new RequestsFailedEvent(default, "backend", "connection refused", 1, null)), StringComparison.Ordinal);
        Assert.EndsWith(
            sum,
            await WriteAsync(new RequestsFailedEvent(default, "backend", "connection refused", 4211, TimeSpan.FromSeconds(10))),
            StringComparison.Ordinal);

        async Task<string> WriteAsync(AgentEvent agentEvent)
        {
            var output = new StringWriter();
            await formatter.WriteAsync(agentEvent, output, CancellationToken.None);
            return output.ToString().TrimEnd();
        }
    }

    private List<(string Leg, long Count, TimeSpan? Over)> Told()
    {
        var told = _posted.Cast<RequestsFailedEvent>().Select(static told => (told.Leg, told.Count, told.Over)).ToList();
        _posted.Clear();
        return told;
    }
}
