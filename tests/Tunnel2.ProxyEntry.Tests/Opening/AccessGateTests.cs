using System.Net;
using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Opening;

/// <summary>Requests to a session with access rules, through the forwarder.</summary>
public sealed class AccessGateTests
{
    private static readonly AccessUser _alice = new("alice", PasswordHash.Create("secret", PasswordHash.LeastIterations));

    [Fact]
    public Task An_address_that_is_not_allowed_reaches_no_uplink() => RunAsync(
        new AccessSet([], [IPNetwork.Parse("10.0.0.0/8")], []),
        async fixture =>
        {
            var asked = fixture.Ask(new ScriptedVisitor { From = IPAddress.Parse("192.0.2.1") });
            Assert.Equal(["error AddressNotAllowed"], await fixture.DoneAsync(asked));
            Assert.Equal(0, fixture.Arrived);
            Assert.Equal(1, fixture.Metrics["tunnel2.entry.access.refused:address-not-allowed"]);
            await AnswerAsync(fixture, new ScriptedVisitor { From = IPAddress.Parse("10.1.1.1") });
        });

    [Theory]
    [InlineData(null)]
    [InlineData("Bearer abc")]
    [InlineData("Basic !!")]
    public Task Without_a_login_nothing_reaches_an_uplink(string? authorization) => RunAsync(
        new AccessSet([_alice], [], []),
        async fixture =>
        {
            for (var i = 0; i < 50; i++)
            {
                // No attempt: it is how browsers ask for the login.
                Assert.Equal(["error LoginRequired"], await fixture.DoneAsync(fixture.Ask(With(authorization))));
            }

            Assert.Equal(0, fixture.Arrived);
        });

    [Fact]
    public Task Two_fields_of_authorization_are_no_login() => RunAsync(
        new AccessSet([_alice], [], []),
        async fixture =>
        {
            var visitor = new ScriptedVisitor
            {
                Fields = [("Authorization", Basic("alice:secret")), ("Authorization", Basic("alice:secret"))],
            };
            Assert.Equal(["error LoginRequired"], await fixture.DoneAsync(fixture.Ask(visitor)));
        });

    [Fact]
    public Task A_right_login_passes_again_and_again_and_the_service_learns_who_it_is() => RunAsync(
        new AccessSet([_alice], [], []),
        async fixture =>
        {
            for (var i = 0; i < 30; i++)
            {
                var visitor = With(Basic("alice:secret"));
                await AnswerAsync(fixture, visitor);
                Assert.True(visitor.Extras!.HasUsedCredentials);
            }

            Assert.Equal(1, fixture.Metrics["tunnel2.entry.access.logins:ok"]);
        });

    [Fact]
    public Task Wrong_logins_are_limited_and_a_right_one_that_is_known_passes_all_the_same() => RunAsync(
        new AccessSet([_alice], [], []),
        async fixture =>
        {
            await AnswerAsync(fixture, With(Basic("alice:secret")));
            for (var i = 0; i < 10; i++)
            {
                Assert.Equal(["error LoginRequired"], await fixture.DoneAsync(fixture.Ask(With(Basic($"alice:{i}")))));
            }

            Assert.Equal(["error TooManyLogins, again in 6 s"], await fixture.DoneAsync(fixture.Ask(With(Basic("alice:new")))));
            Assert.Equal(["error TooManyLogins, again in 6 s"], await fixture.DoneAsync(fixture.Ask(With(Basic("alice:9")))));
            Assert.Equal(10, fixture.Metrics["tunnel2.entry.access.logins:failed"]);
            await AnswerAsync(fixture, With(Basic("alice:secret")));
            fixture.Time.Advance(TimeSpan.FromSeconds(6));
            Assert.Equal(["error LoginRequired"], await fixture.DoneAsync(fixture.Ask(With(Basic("alice:new")))));
        });

    [Fact]
    public Task The_same_wrong_login_counts_each_time_and_is_computed_once() => RunAsync(
        new AccessSet([_alice], [], []),
        async fixture =>
        {
            for (var i = 0; i < 10; i++)
            {
                Assert.Equal(["error LoginRequired"], await fixture.DoneAsync(fixture.Ask(With(Basic("alice:x")))));
            }

            Assert.Equal(["error TooManyLogins, again in 6 s"], await fixture.DoneAsync(fixture.Ask(With(Basic("alice:x")))));
            Assert.Equal(1, fixture.Metrics["tunnel2.entry.access.logins:failed"]);
        });

    [Fact]
    public Task Many_wrong_logins_at_once_get_no_more_than_one_after_the_other() => RunAsync(
        new AccessSet([_alice], [], []),
        async fixture =>
        {
            var asked = Enumerable.Range(0, 40).Select(number => fixture.Ask(With(Basic($"alice:{number}")))).ToList();
            var errors = new List<string>();
            foreach (var one in asked)
            {
                errors.Add(Assert.Single(await fixture.DoneAsync(one)).Split(',')[0]);
            }

            Assert.InRange(errors.Count(static error => error == "error LoginRequired"), 1, 10);
            Assert.Equal(0, fixture.Arrived);
        });

    [Fact]
    public Task Rules_that_change_while_a_login_is_checked_are_the_ones_that_count() => RunAsync(
        new AccessSet([_alice], [], []),
        async fixture =>
        {
            var looks = 0;
            var visitor = With(Basic("alice:secret"));
            visitor.OnForward = () =>
            {
                if (++looks == 2)
                {
                    var denied = new AccessSet([], [], [IPNetwork.Parse("127.0.0.0/8")]);
                    fixture.Session.Access = new AccessPolicy([denied], fixture.Session.Logins);
                }
            };
            Assert.Equal(["error AddressNotAllowed"], await fixture.DoneAsync(fixture.Ask(visitor)));
        });

    [Fact]
    public Task A_visitor_that_leaves_while_its_login_is_checked_gets_nothing() => RunAsync(
        new AccessSet([_alice], [], []),
        async fixture =>
        {
            var visitor = With(Basic("alice:secret"));
            visitor.OnForward = visitor.Leave;
            var asked = fixture.Ask(visitor);
            Assert.Equal("ended VisitorAborted", (await fixture.EndOfAsync(asked)).Outcome);
            Assert.Equal(0, fixture.Arrived);
        });

    private static Task RunAsync(AccessSet set, Func<ForwarderFixture, Task> body) => ForwarderFixture.RunAsync(
        fixture =>
        {
            fixture.Session.Access = new AccessPolicy([set], fixture.Session.Logins);
            return body(fixture);
        });

    private static async Task AnswerAsync(ForwarderFixture fixture, ScriptedVisitor visitor)
    {
        var (asked, agent) = await fixture.BeginAsync(visitor);
        agent.Answer();
        await fixture.DoneAsync(asked);
    }

    private static ScriptedVisitor With(string? authorization) => new()
    {
        Fields = authorization is null ? [] : [("Authorization", authorization)],
    };

    private static string Basic(string pair) => "Basic " + Convert.ToBase64String(Encoding.UTF8.GetBytes(pair));
}
