using System.Text;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Tests.Requests;

namespace Tunnel2.ProxyEntry.Tests.Https;

public sealed class PendingChallengesTests
{
    private const string Folder = "/.well-known/acme-challenge/";

    [Theory]
    [InlineData("web.localhost", "GET", "token", true)]
    [InlineData("WEB.localhost:80", "HEAD", "token", true)]
    [InlineData("web.localhost", "POST", "token", false)]
    [InlineData("other.localhost", "GET", "token", false)]
    [InlineData("web.localhost", "GET", "tokeN", false)]
    [InlineData("web.localhost", "GET", "token/", false)]
    [InlineData("web.localhost", "GET", "token?x", false)]
    [InlineData("web.localhost", "GET", "", false)]
    public void Only_the_visit_that_is_awaited_is_answered(string host, string method, string token, bool isAnswered)
    {
        var challenges = new PendingChallenges();
        challenges.AddHttp("token", "web.localhost", "token.thumbprint");
        var answer = challenges.FindAnswer(new ScriptedVisitor { Host = host, Asks = method, Path = Folder + token });
        Assert.Equal(isAnswered ? "token.thumbprint" : null, answer is null ? null : Encoding.ASCII.GetString(answer.Body.Span));
    }

    [Fact]
    public void What_another_node_may_await_differs_from_other_requests_without_a_text_of_them()
    {
        var challenges = new PendingChallenges();
        Assert.False(challenges.MayBeOfOther(new ScriptedVisitor { Path = Folder + "token" }));
        challenges.Others = new NoChallenges();
        Assert.False(challenges.MayBeOfOther(new SampleExchange { HasTarget = false }));
        Assert.True(challenges.MayBeOfOther(new ScriptedVisitor { Path = Folder + "token" }));
        Assert.True(challenges.MayBeOfOther(new ScriptedVisitor { Path = Folder + new string('t', 256) }));
        Assert.False(challenges.MayBeOfOther(new ScriptedVisitor { Path = Folder + new string('t', 257) }));
        Assert.False(challenges.MayBeOfOther(new ScriptedVisitor { Path = Folder + "token", Asks = "POST" }));
    }

    [Fact]
    public Task A_visit_is_answered_before_any_tunnel_and_others_reach_theirs() => ForwarderFixture.RunAsync(async fixture =>
    {
        fixture.Challenges.AddHttp("t", "web.localhost", "t.k");
        Assert.Equal(["answer 200"], await fixture.DoneAsync(fixture.Ask(new ScriptedVisitor { Path = Folder + "t" })));
        var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { Path = Folder + "u" });
        agent.Answer(404, "x");
        await fixture.DoneAsync(asked);
        agent.Release();
        await fixture.UntilQuietAsync();

        fixture.Challenges.RemoveHttp("t");
        Assert.False(fixture.Challenges.HasHttp);
        var (later, service) = await fixture.BeginAsync(new ScriptedVisitor { Path = Folder + "t" });
        service.Answer(404, "x");
        await fixture.DoneAsync(later);
    });

    [Fact]
    public Task A_visit_is_not_redirected() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            fixture.Challenges.AddHttp("t", "new.example", "t.k");
            var visitor = new ScriptedVisitor { Host = "new.example", Path = Folder + "t" };
            Assert.Equal(["answer 200"], await fixture.DoneAsync(fixture.Ask(visitor)));
        },
        new ForwarderOptions { Settings = ["Https:Redirect=443"] });

    private sealed class NoChallenges : IOtherChallenges
    {
        public bool UsesTls => false;

        public ValueTask<byte[]?> FindHttpAsync(string name, string token) => default;

        public ValueTask<ServerCertificate?> FindTlsAsync(string name) => default;
    }
}
