using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Https;

public sealed class HttpsRulesTests
{
    private static readonly ForwarderOptions _redirects = new() { Settings = ["Https:Redirect=8443"] };

    [Theory]
    [InlineData("web.localhost", "/", "https://web.localhost:8443/")]
    [InlineData("web.localhost:12000", "/a/b?c=d&e=%2F", "https://web.localhost:8443/a/b?c=d&e=%2F")]
    [InlineData("WEB.localhost.", "/", "https://WEB.localhost.:8443/")]
    [InlineData("nobody.localhost", "/x", "https://nobody.localhost:8443/x")]
    [InlineData("web-e1.localhost", "//evil.example/", "https://web-e1.localhost:8443//evil.example/")]
    [InlineData("web.localhost", "*", "https://web.localhost:8443/")]
    [InlineData("web.localhost", "?q", "https://web.localhost:8443/?q")]
    public Task A_visitor_without_TLS_is_sent_to_the_same_address_over_HTTPS(string host, string target, string location) =>
        ForwarderFixture.RunAsync(
            async fixture =>
            {
                var asked = fixture.Ask(new ScriptedVisitor { Host = host, Path = target, Asks = "POST" });
                var (log, outcome) = await fixture.EndOfAsync(asked);
                Assert.Equal(["answer 308"], log);
                Assert.Equal("ended Completed", outcome);
                Assert.Equal(location, Field(asked.Visitor.Answer!, "Location"));
                Assert.Equal(308, asked.State.Status);
                Assert.Equal(0, fixture.Arrived);
            },
            _redirects);

    [Theory]
    [InlineData("evil.example", "error UnknownHost")]
    [InlineData("web.localhost.evil.example", "error UnknownHost")]
    [InlineData("web.localhost@evil.example", "error InvalidHost")]
    [InlineData("", "error UnknownHost")]
    public Task A_host_that_is_no_name_of_a_tunnel_leads_nowhere(string host, string answer) => ForwarderFixture.RunAsync(
        async fixture => Assert.Equal([answer], await fixture.DoneAsync(fixture.Ask(new ScriptedVisitor { Host = host }))), _redirects);

    [Fact]
    public Task A_visitor_over_HTTPS_and_one_whose_request_is_refused_are_not_redirected() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            var (asked, agent) = await fixture.BeginAsync(new ScriptedVisitor { OverTls = true });
            agent.Answer(200, "x");
            await fixture.DoneAsync(asked);
            Assert.Equal("x", asked.Visitor.Body);
            Assert.Equal(
                ["error BadRequest"], await fixture.DoneAsync(fixture.Ask(new ScriptedVisitor { Flaw = ProxyError.BadRequest })));
        },
        _redirects);

    [Theory]
    [InlineData("off", null)]
    [InlineData("443", "https://web.localhost/")]
    public void The_port_is_written_where_it_is_not_the_usual_one(string setting, string? location)
    {
        var answer = new HttpsRules(SettingsFixture.LoadValid("Https:Redirect=" + setting)).FindRedirect(new ScriptedVisitor());
        Assert.Equal(location, answer is null ? null : Field(answer, "Location"));
    }

    [Theory]
    [InlineData("on", "https://{name}.localhost", "https://web.localhost/")]
    [InlineData("on", "https://{name}.localhost:9443", "https://web.localhost:9443/")]
    [InlineData("on", "http://{name}.localhost", "https://web.localhost:12345/")]
    [InlineData("8443", "https://{name}.localhost", "https://web.localhost:8443/")]
    public void Visitors_are_sent_to_the_port_of_their_URL_where_it_is_set_and_the_redirect_names_none(
        string redirect, string url, string location)
    {
        var rules = new HttpsRules(SettingsFixture.LoadValid(
            "Https:Redirect=" + redirect, "Public:Url=" + url, "Public:HttpsListen=127.0.0.1:0", "Public:Certificate=self-made"));
        rules.Bound(12345);
        Assert.Equal(location, Field(rules.FindRedirect(new ScriptedVisitor())!, "Location"));
    }

    [Fact]
    public void The_port_of_the_listener_counts_when_it_is_bound()
    {
        var rules = new HttpsRules(SettingsFixture.LoadValid(
            "Https:Redirect=on", "Public:HttpsListen=127.0.0.1:0", "Public:Certificate=self-made"));
        rules.Bound(12345);
        Assert.Equal("https://web.localhost:12345/", Field(rules.FindRedirect(new ScriptedVisitor())!, "Location"));
        rules.Bound(443);
        Assert.Equal("https://web.localhost/", Field(rules.FindRedirect(new ScriptedVisitor())!, "Location"));
    }

    [Fact]
    public Task Browsers_are_asked_to_remember_over_HTTPS_only_and_a_service_may_ask_itself() => ForwarderFixture.RunAsync(
        async fixture =>
        {
            const string Field = "Strict-Transport-Security: max-age=3600\r\n";
            Assert.Equal(Field, await LinesAsync(fixture, new ScriptedVisitor { OverTls = true }));
            Assert.Equal("", await LinesAsync(fixture, new ScriptedVisitor()));
            Assert.Equal(
                "",
                await LinesAsync(fixture, new ScriptedVisitor { OverTls = true }, ("strict-transport-security", "max-age=0")));

            var failed = fixture.Ask(new ScriptedVisitor { OverTls = true, Host = "nobody.example" });
            await fixture.DoneAsync(failed);
            Assert.Equal(Field, System.Text.Encoding.ASCII.GetString(failed.Visitor.Extras!.ResponseLines));
        },
        new ForwarderOptions { Settings = ["Https:Hsts=1h", "TrustedProxies=192.0.2.1"] });

    [Theory]
    [InlineData("Https:Redirect=yes")]
    [InlineData("Https:Redirect=0")]
    [InlineData("Https:Redirect=65536")]
    [InlineData("Https:Redirect=on")]
    [InlineData("Https:Hsts=0s")]
    [InlineData("Https:Hsts=31536000")]
    [InlineData("Public:CertificateFolder=/nowhere/at/all")]
    public void A_setting_that_cannot_work_is_a_mistake(string setting) =>
        Assert.Equal("Tunnel2:" + setting.Split('=')[0], Assert.Single(SettingsFixture.Load(setting).Errors).Key);

    private static async Task<string> LinesAsync(
        ForwarderFixture fixture, ScriptedVisitor visitor, params (string Name, string Value)[] fields)
    {
        var (asked, agent) = await fixture.BeginAsync(visitor);
        agent.Answer(200, "x", fields: fields);
        await fixture.DoneAsync(asked);
        agent.Release();
        await fixture.UntilQuietAsync();
        return visitor.Extras is { } extras ? System.Text.Encoding.ASCII.GetString(extras.ResponseLines) : "";
    }

    private static string Field(ErrorResponse answer, string name) => Assert.Single(answer.Headers, one => one.Key == name).Value;
}
