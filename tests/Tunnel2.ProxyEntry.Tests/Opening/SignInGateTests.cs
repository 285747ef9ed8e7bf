using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Tests.Access.Oidc;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Opening;

/// <summary>Requests to a session whose visitors sign in, through the forwarder, with gates in memory.</summary>
public sealed class SignInGateTests
{
    [Fact]
    public Task Who_has_signed_in_passes_and_a_session_is_opened_once() => RunAsync(async fixture =>
    {
        for (var i = 0; i < 3; i++)
        {
            var visitor = With("/", ("Cookie", $"a=b; {SignInCookie.Name}={ScriptedSignIn.Session}"));
            var (asked, agent) = await fixture.BeginAsync(visitor);
            agent.Answer();
            await fixture.DoneAsync(asked);
            Assert.False(visitor.Extras!.HasUsedCredentials);
        }

        Assert.Equal(1, fixture.SignIn.Opened);
    });

    [Theory]
    [InlineData(null, null, "error SignInRequired")]
    [InlineData("Accept", "application/json", "error SignInRequired")]
    [InlineData("Accept", "*/*", "error SignInRequired")]
    [InlineData("Sec-Fetch-Mode", "cors", "error SignInRequired")]
    [InlineData("Sec-Fetch-Mode", "websocket", "error SignInRequired")]
    [InlineData("Cookie", "__Host-tunnel2=forged", "error SignInRequired")]
    [InlineData("Cookie", "__Host-tunnel2=busy", "error SignInUnavailable")]
    public Task Who_has_not_and_is_no_page_is_refused(string? name, string? value, string end) => RunAsync(async fixture =>
    {
        var asked = fixture.Ask(name is null ? With("/") : With("/", (name, value!)));
        Assert.StartsWith(end, Assert.Single(await fixture.DoneAsync(asked)), StringComparison.Ordinal);
        Assert.Equal(0, fixture.Arrived);
    });

    [Theory]
    [InlineData("/", "Accept", "text/html,*/*", "/.tunnel2/login?to=%2F")]
    [InlineData("/a?b=c&d", "Sec-Fetch-Mode", "navigate", "/.tunnel2/login?to=%2Fa%3Fb%3Dc%26d")]
    [InlineData("//evil.example", "Sec-Fetch-Mode", "navigate", "/.tunnel2/login?to=%2F")]
    public Task A_page_leads_to_the_sign_in_and_back(string target, string name, string value, string location) =>
        RunAsync(async fixture =>
        {
            var visitor = With(target, (name, value));
            await fixture.DoneAsync(fixture.Ask(visitor));
            Assert.Equal(302, visitor.Answer!.Status);
            Assert.Equal(location, visitor.Answer.Headers.Single(static header => header.Key == "Location").Value);
            Assert.Equal(0, fixture.Arrived);
        });

    [Fact]
    public Task The_gates_own_paths_reach_no_service_signed_in_or_not() => RunAsync(async fixture =>
    {
        foreach (var path in new[] { "/.tunnel2/login", "/.tunnel2/callback?code=a", "/.tunnel2/" })
        {
            await fixture.DoneAsync(fixture.Ask(
                With(path, ("Cookie", $"{SignInCookie.Name}={ScriptedSignIn.Session}"))));
        }

        Assert.Equal(
            ["staff web GET /.tunnel2/login", "staff web GET /.tunnel2/callback?code=a", "staff web GET /.tunnel2/"],
            fixture.SignIn.Visits);
        Assert.Equal(0, fixture.Arrived);
    });

    [Fact]
    public Task Without_https_there_is_no_sign_in() => RunAsync(async fixture =>
    {
        var asked = fixture.Ask(new ScriptedVisitor
        {
            Fields = [("Cookie", $"{SignInCookie.Name}={ScriptedSignIn.Session}")],
        });
        Assert.Equal(["error SignInNeedsTls"], await fixture.DoneAsync(asked));
        Assert.Equal(0, fixture.SignIn.Opened);
    });

    private static ScriptedVisitor With(string target, params (string Name, string Value)[] fields) => new()
    {
        Path = target,
        Fields = fields,
        OverTls = true,
    };

    private static Task RunAsync(Func<ForwarderFixture, Task> body) => ForwarderFixture.RunAsync(fixture =>
    {
        fixture.Session.Access = new AccessPolicy([new AccessSet([], [], []) { Gate = "staff" }], fixture.Session.Logins)
        {
            Place = new SignInPlace("staff", "web"),
        };
        return body(fixture);
    });
}
