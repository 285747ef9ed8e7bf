using System.Text;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Opening;

/// <summary>Requests to a session with policies, through the forwarder.</summary>
public sealed class PolicyGateTests
{
    [Fact]
    public Task A_denied_request_reaches_no_uplink() => RunAsync(null, """{ "path": "/a", "deny": true }""", async fixture =>
    {
        Assert.Equal(["error PolicyDenied"], await fixture.DoneAsync(fixture.Ask(new ScriptedVisitor { Path = "/a?b" })));
        Assert.Equal(0, fixture.Arrived);
        Assert.Equal(1, fixture.Metrics["tunnel2.entry.access.refused:policy-denied"]);
    });

    [Theory]
    [InlineData("""{ "deny": true }""", """{ "path": "/a", "allow": true }, { "path": "/b", "deny": true }""", "error PolicyDenied")]
    [InlineData("""{ "path": "/a", "allow": true }, { "deny": true }""", """{ "deny": true }""", "error PolicyDenied")]
    [InlineData("""{ "path": "/a", "allow": true }, { "deny": true }""", """{ "path": "/a", "redirect": "/b" }""", "answer 302")]
    [InlineData("""{ "answer": { "status": 503 } }""", """{ "path": "/a", "redirect": "/b" }""", "answer 503")]
    public Task The_servers_rows_come_first_and_both_have_to_let_it_pass(string forced, string own, string end) =>
        RunAsync(forced, own, async fixture =>
        {
            Assert.Equal([end], await fixture.DoneAsync(fixture.Ask(new ScriptedVisitor { Path = "/a" })));
            Assert.Equal(0, fixture.Arrived);
        });

    [Fact]
    public Task A_request_that_is_tried_again_counts_once() => RunAsync(
        null,
        """{ "rate-limit": { "rate": "1/hour", "burst": 1, "per": "tunnel" } }""",
        async fixture =>
        {
            var (asked, first) = await fixture.BeginAsync();
            first.Refuse();
            var second = await fixture.AcceptAsync();
            second.Answer(200, "ok");
            Assert.Equal(["head 200", "body 2", "complete"], await fixture.DoneAsync(asked));
            Assert.Equal(["error PolicyRateLimit, again in 3600 s"], await fixture.DoneAsync(fixture.Ask()));
        });

    private static Task RunAsync(string? forced, string own, Func<ForwarderFixture, Task> test) => ForwarderFixture.RunAsync(
        async fixture =>
        {
            fixture.Session.Policy = SessionPolicy.Of(forced is null ? [] : [Read(forced)], Read(own));
            await test(fixture);
        },
        new ForwarderOptions { Uplinks = 2 });

    private static Policy Read(string rows) => PolicyReader.Read(Encoding.UTF8.GetBytes($"[{rows}]")).Policy!;
}
