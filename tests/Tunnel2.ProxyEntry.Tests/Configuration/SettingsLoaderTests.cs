using System.Net;
using System.Text;
using Microsoft.Extensions.Configuration;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

public sealed class SettingsLoaderTests
{
    [Fact]
    public void No_settings_at_all_give_the_documented_defaults()
    {
        var settings = SettingsFixture.LoadValid();

        Assert.Equal(new IPEndPoint(IPAddress.Loopback, 12000), settings.HttpListen);
        Assert.Null(settings.HttpsListen);
        Assert.Equal(new IPEndPoint(IPAddress.Loopback, 12001), settings.UplinkListen);
        Assert.Equal(new IPEndPoint(IPAddress.Loopback, 12002), settings.AdminListen);
        Assert.Null(settings.UplinkCertificate);
        Assert.Null(settings.AdminToken);
        Assert.Equal("localhost", settings.Domain);
        Assert.Equal("e1", settings.EntryId);
        Assert.False(settings.TestMode);
        Assert.Equal(EngineMode.Auto, settings.Engine);
        Assert.True(settings.AnonymousAgentsAllowed);
        Assert.Equal(0, settings.Agents.Count);
        Assert.True(settings.TrustedProxies.IsEmpty);
        Assert.Equal(TimeSpan.FromSeconds(10), settings.BackendConnectTimeout);
        Assert.Equal(Timeout.InfiniteTimeSpan, settings.BackendHeadersTimeout);
        Assert.Equal(TimeSpan.FromMinutes(5), settings.BodyIdleTimeout);
        Assert.Equal(
            (TimeSpan.FromSeconds(5), TimeSpan.Zero, TimeSpan.FromSeconds(30)),
            (settings.ParkTimeout, settings.DrainDelay, settings.DrainTimeout));
        Assert.Equal((1_000, 5_000, 128L * 1024 * 1024), (settings.ParkedPerName, settings.ParkedTotal, settings.ParkedBytes));
    }

    [Fact]
    public void All_settings_are_read()
    {
        var settings = SettingsFixture.LoadValid(
            "Public:HttpListen=*:80",
            "Uplink:Listen=[::1]:7001",
            "Admin:Listen=localhost:0",
            "Admin:Token=secret",
            "Admin:MetricsToken=scrape",
            "Domain=Tunnel.Example.COM.",
            "EntryId=EU1",
            "TestMode=true",
            "Engine=Portable",
            "AllowAnonymousAgents=false",
            "Agents:ci:TokenHash=" + SettingsFixture.HashSetting("t1"),
            "Agents:ci:Names=web, api-*",
            "Agents:ci:Tier=pro",
            "TrustedProxies=10.0.0.0/8,192.0.2.1",
            "Timeouts:BackendConnect=500ms",
            "Timeouts:BackendHeaders=1.5m",
            "Timeouts:BodyIdle=off",
            "Timeouts:Park=7s",
            "Timeouts:DrainDelay=8s",
            "Timeouts:Drain=90s",
            "Https:Hsts=1.5d",
            "Parking:PerName=1",
            "Parking:Total=2",
            "Parking:Megabytes=3");

        Assert.Equal(80, settings.HttpListen?.Port);
        Assert.Equal(new IPEndPoint(IPAddress.IPv6Loopback, 7001), settings.UplinkListen);
        Assert.Equal(new IPEndPoint(IPAddress.Loopback, 0), settings.AdminListen);
        Assert.True(settings.AdminToken?.Matches("secret"u8));
        Assert.True(settings.AdminMetricsToken?.Matches("scrape"u8));
        Assert.Equal("tunnel.example.com", settings.Domain);
        Assert.Equal("eu1", settings.EntryId);
        Assert.True(settings.TestMode);
        Assert.Equal(EngineMode.Portable, settings.Engine);
        Assert.Equal(TimeSpan.FromHours(36), settings.Https.Hsts);
        Assert.False(settings.AnonymousAgentsAllowed);
        var agent = settings.Agents.Find("CI");
        Assert.NotNull(agent);
        Assert.Equal(["web", "api-*"], agent.Names.Select(name => name.ToString()));
        Assert.Equal("pro", agent.Tier);
        Assert.True(settings.TrustedProxies.Contains(IPAddress.Parse("10.1.2.3")));
        Assert.Equal(TimeSpan.FromMilliseconds(500), settings.BackendConnectTimeout);
        Assert.Equal(TimeSpan.FromSeconds(90), settings.BackendHeadersTimeout);
        Assert.Equal(Timeout.InfiniteTimeSpan, settings.BodyIdleTimeout);
        Assert.Equal(
            (TimeSpan.FromSeconds(7), TimeSpan.FromSeconds(8), TimeSpan.FromSeconds(90)),
            (settings.ParkTimeout, settings.DrainDelay, settings.DrainTimeout));
        Assert.Equal((1, 2, 3L * 1024 * 1024), (settings.ParkedPerName, settings.ParkedTotal, settings.ParkedBytes));
    }

    [Theory]
    [InlineData("Public:HttpListen", "nonsense")]
    [InlineData("Public:HttpListen", "off")]
    [InlineData("Public:HttpsListen", "127.0.0.1:12443")]
    [InlineData("Public:Certificate", "/does/not/exist.pem")]
    [InlineData("Uplink:Listen", "nonsense")]
    [InlineData("Uplink:Listen", "127.0.0.1:70000")]
    [InlineData("Uplink:Listen", "::1:12001")]
    [InlineData("Uplink:Listen", "1:12001")]
    [InlineData("Uplink:Listen", "010.0.0.1:12001")]
    [InlineData("Uplink:Listen", "127.0.0.08:12001")]
    [InlineData("Uplink:Listen", "[::ffff:127.0.0.01]:12001")]
    [InlineData("TrustedProxies", "[::1]")]
    [InlineData("TrustedProxies", "fe80::1%1")]
    [InlineData("Domains:Resolvers", "53")]
    [InlineData("Domains:Resolvers", "010.0.0.1:53")]
    [InlineData("Uplink:Listen", "[127.0.0.1]:12001")]
    [InlineData("Uplink:Listen", "example.com:12001")]
    [InlineData("Uplink:Listen", "127.0.0.1:12000")]
    [InlineData("Uplink:Certificate", "/does/not/exist.pem")]
    [InlineData("Uplink:AllowPlaintext", "maybe")]
    [InlineData("Admin:Listen", "0.0.0.0:12002")]
    [InlineData("Admin:Listen", "off")]
    [InlineData("Admin:Token", "")]
    [InlineData("Admin:Token", "with space")]
    [InlineData("Admin:MetricsToken", "")]
    [InlineData("Admin:MetricsToken", "with space")]
    [InlineData("Admin:MetricsToken", "without-the-other-one")]
    [InlineData("Domain", "example.com:80")]
    [InlineData("Domain", "127.0.0.1")]
    [InlineData("Domain", "-x.example.com")]
    [InlineData("Domain", "a..b")]
    [InlineData("Domain", ".")]
    [InlineData("EntryId", "thirteenchars")]
    [InlineData("EntryId", "-e1")]
    [InlineData("EntryId", "e.1")]
    [InlineData("TestMode", "2")]
    [InlineData("Engine", "warp")]
    [InlineData("Engine", "event-loop")]
    [InlineData("Transport", "sockets")]
    [InlineData("Http1Front", "own")]
    [InlineData("AllowAnonymousAgents", "perhaps")]
    [InlineData("TrustedProxies", "10.0.0.1/8")]
    [InlineData("TrustedProxies", "10.0.0.0/33")]
    [InlineData("TrustedProxies", "proxy.example.com")]
    [InlineData("TrustedProxies", "10")]
    [InlineData("Timeouts:BackendConnect", "abc")]
    [InlineData("Timeouts:BackendConnect", "10")]
    [InlineData("Timeouts:BackendConnect", "-1s")]
    [InlineData("Timeouts:BackendConnect", "off")]
    [InlineData("Timeouts:BackendConnect", "11m")]
    [InlineData("Timeouts:BackendHeaders", "0s")]
    [InlineData("Timeouts:BackendHeaders", "-00:00:10")]
    [InlineData("Timeouts:BodyIdle", "99999999999999999999h")]
    [InlineData("Timeouts:BodyIdle", "25h")]
    [InlineData("Timeouts:Park", "61s")]
    [InlineData("Timeouts:DrainDelay", "11m")]
    [InlineData("Timeouts:Drain", "off")]
    [InlineData("Parking:PerName", "-1")]
    [InlineData("Parking:Total", "1000001")]
    [InlineData("Parking:Total", "many")]
    [InlineData("Parking:Megabytes", "0")]
    [InlineData("Timeouts:BodyIdle", "1.2.3s")]
    public void Every_invalid_value_gives_one_message_that_names_its_key(string key, string value)
    {
        var (settings, errors) = SettingsFixture.Load($"{key}={value}");

        Assert.Null(settings);
        var error = Assert.Single(errors);
        Assert.Equal("Tunnel2:" + key, error.Key);
        Assert.Matches("[.?]$", error.Message);
    }

    [Fact]
    public void All_mistakes_are_reported_at_once()
    {
        var (_, errors) = SettingsFixture.Load(
            "Timeouts:BackendConnect=abc", "Uplink:Listen=nonsense", "Domian=example.com", "EntryId=!", "Admin:Listen=0.0.0.0:1");

        Assert.Equal(
            ["Tunnel2:Admin:Listen", "Tunnel2:Domian", "Tunnel2:EntryId", "Tunnel2:Timeouts:BackendConnect", "Tunnel2:Uplink:Listen"],
            errors.Select(error => error.Key).Order(StringComparer.Ordinal));
    }

    [Theory]
    [InlineData("Domian", "Domain")]
    [InlineData("HttpListen", "Public:HttpListen")]
    [InlineData("Uplnk:Listen", "Uplink:Listen")]
    [InlineData("Uplink:Certficate", "Uplink:Certificate")]
    [InlineData("TrustedProxy", "TrustedProxies")]
    [InlineData("Agents:web:Token", "Agents:web:TokenHash")]
    [InlineData("Timeouts:BackendHeader", "Timeouts:BackendHeaders")]
    public void A_misspelt_key_is_a_mistake_with_a_suggestion(string written, string meant)
    {
        var (_, errors) = SettingsFixture.Load(written + "=x");

        Assert.Contains(errors, error => error.Key == "Tunnel2:" + written
            && error.Message == $"unknown setting Tunnel2:{written}, did you mean Tunnel2:{meant}?");
    }

    [Theory]
    [InlineData("5", "Tunnel2")]
    [InlineData("\"x\"", "Tunnel2")]
    [InlineData("true", "Tunnel2")]
    [InlineData("\"\"", "Tunnel2")]
    [InlineData("[]", "Tunnel2")]
    [InlineData("""{ "Public": "x" }""", "Tunnel2:Public")]
    [InlineData("""{ "Public": [] }""", "Tunnel2:Public")]
    [InlineData("""{ "Agents": [] }""", "Tunnel2:Agents")]
    [InlineData("""{ "Agents": { "web": "" } }""", "Tunnel2:Agents:web")]
    [InlineData("""{ "Oidc": { "staff": 5 } }""", "Tunnel2:Oidc:staff")]
    public void A_value_in_the_place_of_a_group_is_a_mistake_beside_all_others(string json, string key)
    {
        var (_, errors) = SettingsFixture.LoadJson($$"""{ "Tunnel2": {{json}} }""", "EntryId=!");

        Assert.Contains(errors, error => error.Key == key
            && error.Message == "is a group of settings and takes no value itself.");
        Assert.Contains(errors, static error => error.Key == "Tunnel2:EntryId");
    }

    [Theory]
    [InlineData("""{ "Admin": { "Hosts": [ "a", [ "b" ] ] } }""", "Tunnel2:Admin:Hosts")]
    [InlineData("""{ "TrustedProxies": [ { "Address": "10.0.0.1" } ] }""", "Tunnel2:TrustedProxies")]
    public void A_group_in_the_place_of_a_value_of_a_list_is_a_mistake(string json, string key)
    {
        var (_, errors) = SettingsFixture.LoadJson($$"""{ "Tunnel2": {{json}} }""");

        Assert.Equal(new SettingsError(key, "is a list of values, and one of them is a group or a list."), Assert.Single(errors));
    }

    [Theory]
    [InlineData("{}")]
    [InlineData("null")]
    [InlineData("""{ "Public": {}, "Agents": null, "Admin": { "Hosts": [] } }""")]
    public void An_empty_group_has_no_settings(string json) =>
        Assert.True(SettingsFixture.LoadJson($$"""{ "Tunnel2": {{json}} }""").IsValid);

    [Theory]
    [InlineData("Agents:web:TokenHash", true)]
    [InlineData("agents:web:names:0", true)]
    [InlineData("Tiers:gold:Burst", true)]
    [InlineData("AllowAnonymousAgents", false)]
    [InlineData("Domain", false)]
    public void Agents_and_tiers_may_change_while_the_server_runs(string path, bool mayChange) =>
        Assert.Equal(mayChange, SettingsLoader.MayChange(path));

    [Theory]
    [InlineData("Limits:BufferMegabytes=5", "\"5\" is not between 16 and 65536 (or auto).")]
    [InlineData("Limits:BufferMegabytes=many", "\"many\" is neither a whole number nor auto.")]
    [InlineData("Limits:RequestBodyBytes=-1", "\"-1\" is neither a whole number nor off.")]
    [InlineData("Timeouts:Park=2m", "\"2m\" is not between 10ms and 1m (or off).")]
    [InlineData("Timeouts:Drain=off", "\"off\" is not possible here: there is always a limit.")]
    [InlineData("Ring:Slots=100", "\"100\" is not a power of two from 64 to 16777216.")]
    [InlineData("Aggregation:Partitions=0", "\"0\" is not between 1 and 64 (or auto).")]
    [InlineData("Aggregation:Partitions=two", "\"two\" is neither a whole number nor auto.")]
    [InlineData("LogLevel=2", "\"2\" is not a level; use trace, debug, information, warning, error, critical or none.")]
    public void A_value_that_cannot_be_is_shown_with_what_could_be(string setting, string message) =>
        Assert.Equal(message, Assert.Single(SettingsFixture.Load(setting).Errors).Message);

    [Theory]
    [InlineData(1, 1)]
    [InlineData(4, 1)]
    [InlineData(7, 1)]
    [InlineData(8, 2)]
    [InlineData(16, 4)]
    [InlineData(1000, 64)]
    public void Without_a_number_the_live_view_has_a_partition_for_every_four_processors(int processors, int partitions)
    {
        Assert.Equal(partitions, ProxyEntrySettings.AutoPartitions(processors));
        Assert.Equal(
            ProxyEntrySettings.AutoPartitions(Environment.ProcessorCount), SettingsFixture.LoadValid().AggregationPartitions);
        Assert.Equal(3, SettingsFixture.LoadValid("Aggregation:Partitions=3").AggregationPartitions);
    }

    [Theory]
    [InlineData("Engine=event-loop", "\"event-loop\" is not an engine any more; epoll is its name now.")]
    [InlineData("Engine=warp", "\"warp\" is not an engine; use auto, epoll or portable.")]
    [InlineData("Transport=sockets", "is not a setting any more; use Tunnel2:Engine (auto, epoll or portable) and remove it.")]
    [InlineData("transport=", "is not a setting any more; use Tunnel2:Engine (auto, epoll or portable) and remove it.")]
    [InlineData("Http1Front=kestrel", "is not a setting any more: there is one front for HTTP/1.1, which was called own; remove it.")]
    [InlineData("Admin:Connections=9", "is not a setting any more: the limit of open files decides; remove it.")]
    [InlineData("Uplink:Handshakes=9", "is not a setting any more: the limit of open files decides; remove it.")]
    [InlineData("Limits:RequestFields=99", "is not a setting any more: it is 200, which is what an uplink carries; remove it.")]
    public void What_earlier_versions_had_is_a_mistake_that_says_what_to_do(string setting, string message) =>
        Assert.Equal(message, Assert.Single(SettingsFixture.Load(setting).Errors).Message);

    [Fact]
    public void Epoll_is_taken_where_it_is_available_and_a_mistake_elsewhere()
    {
        var (settings, errors) = SettingsFixture.Load("Engine=epoll");

        Assert.Equal(EngineSetup.HasEpoll ? EngineMode.Epoll : null, settings?.Engine);
        Assert.Equal(EngineSetup.HasEpoll ? [] : ["Tunnel2:Engine"], errors.Select(static error => error.Key));
    }

    [Theory]
    [InlineData("Loops=1", 1)]
    [InlineData("Loops=32", 32)]
    [InlineData("Loops=auto", null)]
    [InlineData("Domain=localhost", null)]
    public void There_are_as_many_loops_as_asked_for_or_as_processors(string setting, int? loops) =>
        Assert.Equal(loops ?? Math.Min(Environment.ProcessorCount, 32), SettingsFixture.Load(setting).Settings!.Loops);

    [Theory]
    [InlineData("Loops=0")]
    [InlineData("Loops=33")]
    [InlineData("Loops=-1")]
    [InlineData("Loops=many")]
    public void Other_numbers_of_loops_are_mistakes(string setting) =>
        Assert.Equal("Tunnel2:Loops", Assert.Single(SettingsFixture.Load(setting).Errors).Key);

    [Theory]
    [InlineData(250, "Loops=32")]
    [InlineData(327, "Loops=32")]
    [InlineData(205, "Loops=2")]
    public void More_loops_than_there_are_files_for_are_a_mistake_among_the_others(int files, string loops)
    {
        var errors = SettingsFixture.LoadWithFiles(files, loops, "Domain=a..b", "Frobnicate=1").Errors;
        Assert.Equal(
            ["Tunnel2:Domain", "Tunnel2:Frobnicate", "Tunnel2:Loops"],
            errors.Select(static error => error.Key).Order(StringComparer.Ordinal));
        Assert.Contains(
            $"only {files} open", errors.Single(static error => error.Key == "Tunnel2:Loops").ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(328, "Loops=32", 32)]
    [InlineData(200, "Loops=1", 1)]
    [InlineData(200, "Loops=auto", 1)]
    [InlineData(215, "Loops=auto", 1)]
    public void As_many_loops_as_there_are_files_for_start(int files, string setting, int loops) =>
        Assert.Equal(loops, SettingsFixture.LoadWithFiles(files, setting).Settings!.Loops);

    [Fact]
    public void The_portable_engine_has_no_loops_that_need_files() =>
        Assert.True(SettingsFixture.LoadWithFiles(250, "Loops=32", "Engine=portable").IsValid);

    [Theory]
    [InlineData("Frobnicate=1", "Tunnel2:Frobnicate")]
    [InlineData("Domain:Name=1", "Tunnel2:Domain:Name")]
    [InlineData("Uplink=1", "Tunnel2:Uplink")]
    [InlineData("Agents=1", "Tunnel2:Agents")]
    public void Keys_at_the_wrong_place_are_mistakes(string setting, string key)
    {
        Assert.Equal(key, Assert.Single(SettingsFixture.Load(setting).Errors).Key);
    }

    [Fact]
    public void Keys_are_read_in_any_case()
    {
        Assert.Equal("example.com", SettingsFixture.LoadValid("dOMAIN=example.com").Domain);
    }

    [Fact]
    public void Json_arrays_and_nulls_are_read()
    {
        const string Json = """
            {"Tunnel2":{"Domain":null,"TrustedProxies":["::1","10.0.0.0/8"],"Agents":{"ci":{"TokenHash":"HASH","Names":["web"]}}}}
            """;
        using var stream = new MemoryStream(
            Encoding.UTF8.GetBytes(Json.Replace("HASH", SettingsFixture.HashSetting("t"), StringComparison.Ordinal)));

        var (settings, errors) = SettingsLoader.Load(new ConfigurationBuilder().AddJsonStream(stream).Build());

        Assert.Empty(errors);
        Assert.NotNull(settings);
        Assert.Equal("localhost", settings.Domain);
        Assert.True(settings.TrustedProxies.Contains(IPAddress.IPv6Loopback));
        Assert.True(settings.Agents.IsConfiguredName("web"));
    }

    [Fact]
    public void Settings_given_by_a_host_are_checked_too() =>
        Assert.Equal("Tunnel2:EntryId", Assert.Single(SettingsLoader.Load(KeyValuePair.Create("EntryId", (string?)"-")).Errors).Key);

    [Fact]
    public void The_formatted_mistakes_have_a_line_each()
    {
        var text = SettingsErrorFormatter.Format([new("Tunnel2:A", "is wrong."), new("Tunnel2:B", "too.")]);

        Assert.Equal("tunnel2-entry cannot start: 2 settings are wrong.\n  Tunnel2:A: is wrong.\n  Tunnel2:B: too.\n", text);
    }

    [Fact]
    public void A_value_in_a_message_is_cut_and_without_control_characters()
    {
        Assert.Equal("\"a?[31mb\"", SettingsErrorFormatter.Quote("a\u001b[31mb"));
        Assert.Equal(83, SettingsErrorFormatter.Quote(new string('x', 500)).Length);
    }

    [Fact]
    public void No_secret_appears_in_settings_or_messages()
    {
        var valid = SettingsFixture.LoadValid("Admin:Token=s3cr3t");
        var invalid = SettingsFixture.Load("Admin:Token=s3cr3t pass", "Agents:a:TokenHash=s3cr3t", "Uplink:CertificatePassword=s3cr3t");

        Assert.DoesNotContain("s3cr3t", valid.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain(valid.AdminToken!.ToSetting()[7..], $"{valid} {valid.AdminToken}", StringComparison.Ordinal);
        Assert.Equal(3, invalid.Errors.Count);
        Assert.DoesNotContain("s3cr3t", SettingsErrorFormatter.Format(invalid.Errors), StringComparison.Ordinal);
    }
}
