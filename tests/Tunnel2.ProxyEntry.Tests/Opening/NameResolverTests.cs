using System.Text;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Opening;

public sealed class NameResolverTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly InMemorySessionDirectory _directory;

    public NameResolverTests() => _directory = new InMemorySessionDirectory(_time, TimeSpan.Zero);

    [Fact]
    public async Task A_name_leads_to_its_session_in_each_of_its_forms()
    {
        var session = Sample.Session("web");
        await _directory.RegisterAsync(session, CancellationToken.None);
        var resolver = Create(SettingsFixture.LoadValid("TestMode=true"));
        foreach (var (host, target, rest) in new[]
        {
            ("web.localhost", "/session/web/a", "/session/web/a"), ("WEB-E1.LOCALHOST:1", "/a", "/a"),
            ("127.0.0.1", "/session/web/a?b", "/a?b"), ("", "/session/web", "/"),
        })
        {
            Assert.Null(resolver.Resolve(new RequestAddress(host, target), out var path, out var found));
            Assert.Same(session, found);
            Assert.Equal(rest, path.GetRest(target));
            var bytes = new RequestAddress(Encoding.ASCII.GetBytes(host), Encoding.ASCII.GetBytes(target));
            Assert.Null(resolver.Resolve(bytes, out var samePath, out found));
            Assert.Same(session, found);
            Assert.Equal(path, samePath);
        }
    }

    [Fact]
    public async Task A_claimed_domain_leads_to_its_session_and_a_wildcard_to_one_part_more()
    {
        var (exact, wild) = (Sample.Session("app.example.org"), Sample.Session("*.example.org"));
        await _directory.RegisterAsync(exact, CancellationToken.None);
        await _directory.RegisterAsync(wild, CancellationToken.None);
        var resolver = Create(SettingsFixture.LoadValid());
        _time.Advance(TimeSpan.FromMinutes(1));
        foreach (var (host, expected) in new[]
        {
            ("app.example.org", exact), ("APP.Example.ORG.:8443", exact), ("www.example.org", wild), ("1.example.org", wild),
        })
        {
            Assert.Null(resolver.Resolve(new RequestAddress(host, "/"), out _, out var found));
            Assert.Same(expected, found);
            Assert.Null(resolver.Resolve(new RequestAddress(Encoding.ASCII.GetBytes(host), "/"u8), out _, out found));
            Assert.Same(expected, found);
            Assert.Equal(expected.Name, resolver.GetName(new RequestAddress(host, "/")));
        }

        foreach (var host in new[]
        {
            "example.org", "a.b.example.org", "a.app.example.org", "*.example.org", "evilexample.org", "org", "192.0.2.1",
        })
        {
            Assert.Equal(ProxyError.UnknownHost, Resolve(resolver, host));
        }

        // The agent of the exact one is away: the wildcard does not replace it.
        await _directory.UnregisterAsync(exact.Name, exact.Epoch == 0 ? 1 : exact.Epoch, isKept: true, CancellationToken.None);
        Assert.Equal(ProxyError.AgentOffline, Resolve(resolver, "app.example.org"));
    }

    [Fact]
    public async Task A_wildcard_does_not_stand_in_for_a_domain_that_another_agent_lists()
    {
        string[] settings =
        [
            "Agents:a:TokenHash=" + SettingsFixture.HashSetting("x"), "Agents:a:Names=app.example.org",
            "Agents:b:TokenHash=" + SettingsFixture.HashSetting("y"), "Agents:b:Names=*.example.org,own.example.org",
        ];
        var wild = Sample.Session("*.example.org", grant: new AgentGrant("b", null, null));
        await _directory.RegisterAsync(wild, CancellationToken.None);
        var resolver = Create(SettingsFixture.LoadValid(settings));
        _time.Advance(TimeSpan.FromMinutes(1));
        foreach (var host in new[] { "www.example.org", "own.example.org" })
        {
            Assert.Null(resolver.Resolve(new RequestAddress(host, "/"), out _, out var found));
            Assert.Same(wild, found);
        }

        // Its agent was never there, or is away: the wildcard's service must not see its visitors.
        Assert.Equal(ProxyError.AgentOffline, Resolve(resolver, "app.example.org"));
        Assert.Equal("app.example.org", resolver.GetName(new RequestAddress("app.example.org", "/")));
        var exact = Sample.Session("app.example.org", grant: new AgentGrant("a", null, null));
        await _directory.RegisterAsync(exact, CancellationToken.None);
        Assert.Null(resolver.Resolve(new RequestAddress("app.example.org", "/"), out _, out var own));
        Assert.Same(exact, own);
    }

    [Fact]
    public void A_listed_domain_is_known_before_its_agent_comes()
    {
        var resolver = Create(SettingsFixture.LoadValid(
            "Agents:a:TokenHash=" + SettingsFixture.HashSetting("x"), "Agents:a:Names=app.example.org,*.example.com"));
        Assert.Equal(ProxyError.AgentOffline, Resolve(resolver, "www.example.com"));
        Assert.Equal(ProxyError.UnknownHost, Resolve(resolver, "www.example.net"));
        _time.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal(ProxyError.AgentOffline, Resolve(resolver, "app.example.org"));
        Assert.Equal(ProxyError.UnknownHost, Resolve(resolver, "www.example.com"));
    }

    [Fact]
    public void For_thirty_seconds_after_the_start_every_name_may_come_back()
    {
        var resolver = Create(SettingsFixture.LoadValid());
        Assert.Equal(ProxyError.AgentOffline, Resolve(resolver, "nobody.localhost"));
        _time.Advance(TimeSpan.FromSeconds(29.9));
        Assert.Equal(ProxyError.AgentOffline, Resolve(resolver, "nobody.localhost"));
        _time.Advance(TimeSpan.FromSeconds(0.1));
        Assert.Equal(ProxyError.UnknownName, Resolve(resolver, "nobody.localhost"));
    }

    [Fact]
    public void A_configured_name_is_known_for_ever()
    {
        var resolver = Create(
            SettingsFixture.LoadValid("Agents:a:TokenHash=" + SettingsFixture.HashSetting("x"), "Agents:a:Names=shop,blog-*"));
        _time.Advance(TimeSpan.FromDays(100));
        Assert.Equal(ProxyError.AgentOffline, Resolve(resolver, "shop.localhost"));
        Assert.Equal(ProxyError.UnknownName, Resolve(resolver, "blog-1.localhost"));
    }

    [Theory]
    [InlineData("example.org", nameof(ProxyError.UnknownHost))]
    [InlineData("localhost", nameof(ProxyError.UnknownHost))]
    [InlineData("", nameof(ProxyError.UnknownHost))]
    [InlineData("a b", nameof(ProxyError.InvalidHost))]
    public void A_host_that_is_none_of_ours_is_not_looked_up(string host, string expected) =>
        Assert.Equal(expected, Resolve(Create(SettingsFixture.LoadValid()), host).ToString());

    private static ProxyError? Resolve(NameResolver resolver, string host)
    {
        const string Target = "/session/web/x";
        var error = resolver.Resolve(new RequestAddress(host, Target), out var path, out var session);
        Assert.Equal(Target, path.GetRest(Target));
        Assert.Null(session);
        return error;
    }

    private NameResolver Create(ProxyEntrySettings settings) => new(settings, new AgentRegistry(settings.Agents), _directory, _time);
}
