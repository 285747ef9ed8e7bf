using System.Globalization;
using System.Text.Json;
using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Acme;

/// <summary>Which names get a certificate by themselves, when, and what a restart keeps.</summary>
public sealed class AutomaticCertificatesTests : IDisposable
{
    private const int Obtained = 2271;
    private const int NotObtained = 2272;
    private const int LimitReached = 2273;

    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-acme-").FullName;
    private readonly ManualTimeProvider _time = new();
    private readonly RecordedLog<AutomaticCertificates> _log = new();
    private readonly FakeAuthority _authority;
    private readonly InMemorySessionDirectory _directory;
    private AutomaticCertificates? _running;

    public AutomaticCertificatesTests()
    {
        _authority = new FakeAuthority(_time);
        _directory = new InMemorySessionDirectory(_time, TimeSpan.Zero);
    }

    [Fact]
    public async Task A_listed_name_has_a_certificate_after_the_start_and_keeps_it_over_restarts()
    {
        await using (var certificates = Start("Acme:Names=www.example.test", "Acme:OnDemand=false"))
        {
            Assert.Null(certificates.Find("www.example.test"));
            await UntilAsync(Obtained, 1);
            Assert.NotNull(certificates.Find("www.example.test"));
            Assert.Equal(1, certificates.Count);
        }

        if (!OperatingSystem.IsWindows())
        {
            foreach (var file in Directory.GetFiles(_folder, "*", SearchOption.AllDirectories))
            {
                Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file));
            }
        }

        await using var again = Start("Acme:Names=www.example.test");
        Assert.NotNull(again.Find("www.example.test"));
        await LookedAsync();
        Assert.Equal(1, _authority.Orders);
        Assert.DoesNotContain(_log.Lines, static line => line.Line.Contains("PRIVATE", StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_name_of_a_tunnel_gets_one_when_a_visitor_asks_and_no_other_name_does()
    {
        await RegisterAsync("web");
        await using var certificates = Start();
        foreach (var name in new[] { "nobody.localhost", "a.web.localhost", "localhost", "web.localhost.evil.test", "evil.test", "x" })
        {
            Assert.Null(certificates.Find(name));
        }

        Assert.Null(certificates.Find("web.localhost"));
        Assert.Null(certificates.Find("web.localhost"));
        await UntilAsync(Obtained, 1);
        Assert.NotNull(certificates.Find("web.localhost"));
        Assert.Equal(1, _authority.Orders);
    }

    [Fact]
    public async Task On_demand_can_be_off()
    {
        await RegisterAsync("web");
        await using var certificates = Start("Acme:OnDemand=false");
        Assert.Null(certificates.Find("web.localhost"));
        await LookedAsync();
        Assert.Equal(0, _authority.Orders);
    }

    [Fact]
    public async Task A_listed_wildcard_leaves_no_name_below_it_an_order_of_its_own()
    {
        await RegisterAsync("web");
        var hook = Path.Combine(_folder, "hook");
        File.WriteAllText(hook, "#!/bin/sh\nexit 3\n");
        if (!OperatingSystem.IsWindows())
        {
            File.SetUnixFileMode(hook, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        }

        await using var certificates = Start("Acme:Names=*.my.test", "Domain=my.test", "Acme:DnsHook=" + hook);
        await UntilAsync(NotObtained, 1);
        Assert.Null(certificates.Find("web.my.test"));
        Assert.Contains("code 3", _log.Of(NotObtained)[0], StringComparison.Ordinal);
        await LookedAsync();
        Assert.Equal(1, _authority.Orders);
    }

    [Fact]
    public async Task After_a_failure_a_name_waits_also_over_a_restart_and_each_time_longer()
    {
        _authority.Visit = static (_, _, _) => false;
        await using (Start("Acme:Names=www.example.test"))
        {
            await UntilAsync(NotObtained, 1);
        }

        await using var again = Start("Acme:Names=www.example.test");
        Assert.Equal(1, again.Refused);
        await LookedAsync();
        Assert.Single(_log.Of(NotObtained));
        await AdvanceAsync(TimeSpan.FromMinutes(6));
        await UntilAsync(NotObtained, 2);
        await AdvanceAsync(TimeSpan.FromMinutes(1));
        Assert.Equal(2, _log.Of(NotObtained).Count);
        Assert.Contains("600 s", _log.Of(NotObtained)[1], StringComparison.Ordinal);
        _authority.Visit = static (_, _, _) => true;
        await AdvanceAsync(TimeSpan.FromMinutes(6));
        await UntilAsync(Obtained, 1);
        Assert.Equal(0, again.Refused);
    }

    [Fact]
    public async Task A_name_on_which_the_authority_does_not_decide_holds_up_another_one_for_minutes_alone()
    {
        _authority.Instead = (request, _) =>
        {
            _authority.NeverEnds &= request.RequestUri!.AbsolutePath != "/order";
            return null;
        };
        _authority.Visit = (_, name, _) =>
        {
            _authority.NeverEnds = name == "a.example.test";
            return true;
        };
        var began = _time.GetTimestamp();
        await using var certificates = Start("Acme:Names=a.example.test,b.example.test");
        await WaitSignal.UntilAsync(
            () =>
            {
                _time.Advance(TimeSpan.FromMilliseconds(250));
                return certificates.Find("b.example.test") is not null;
            },
            "the other name has its certificate");
        Assert.InRange(_time.GetElapsedTime(began), CertificateOrder.LimitBesideOthers, CertificateOrder.Limit / 2);
        Assert.Contains("other names wait", Assert.Single(_log.Of(NotObtained)), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_fault_that_was_not_expected_is_no_reason_to_order_again_at_each_look()
    {
        _authority.Instead = static (request, _) => request.RequestUri!.AbsolutePath == "/order/1"
            ? throw new NotSupportedException("unexpected") : null;
        await using var certificates = Start("Acme:Names=www.example.test");
        await UntilAsync(NotObtained, 1);
        for (var minute = 0; minute < 3; minute++)
        {
            await AdvanceAsync(TimeSpan.FromMinutes(1));
        }

        Assert.Single(_log.Of(NotObtained));
        Assert.Equal(1, certificates.Refused);
        Assert.Contains("NotSupportedException", Assert.Single(certificates.Refusals).Reason, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_authority_that_is_away_is_not_asked_for_every_name_nor_after_each_start()
    {
        _authority.Instead = static (_, _) =>
        {
            var answer = FakeAuthority.Answer(503, "text/plain", "");
            answer.Headers.RetryAfter = new(TimeSpan.FromHours(1));
            return Task.FromResult(answer);
        };
        await using (Start("Acme:Names=a.example.test,b.example.test,c.example.test"))
        {
            await UntilAsync(NotObtained, 1);
            await LookedAsync();
            Assert.Single(_log.Of(NotObtained));
        }

        // A server that is started again and again leaves it alone too.
        var asked = _authority.Asked.Count;
        await using var certificates = Start("Acme:Names=a.example.test,b.example.test,c.example.test");
        await LookedAsync();
        Assert.Equal(asked, _authority.Asked.Count);
        _authority.Instead = static (_, _) => null;
        await AdvanceAsync(TimeSpan.FromMinutes(62));
        await UntilAsync(Obtained, 3);
        Assert.Equal(3, certificates.Count);
    }

    [Fact]
    public async Task So_many_are_ordered_in_an_hour_and_so_many_kept()
    {
        await using var certificates = Start(
            "Acme:Names=a.example.test,b.example.test,c.example.test,d.example.test", "Acme:PerHour=2", "Acme:MaxCertificates=3");
        await UntilAsync(LimitReached, 1);
        Assert.Equal(2, _authority.Orders);
        await AdvanceAsync(TimeSpan.FromMinutes(62));
        await UntilAsync(LimitReached, 2);
        Assert.Equal((3, 3), (_authority.Orders, certificates.Count));
    }

    [Fact]
    public async Task The_names_of_one_agent_leave_places_for_those_of_others()
    {
        // Four places for new names: half of them for the one, and half of the rest for the other.
        await using var certificates = Start("Acme:PerHour=5");
        foreach (var name in new[] { "one", "two" })
        {
            await RegisterAsync(name);
            Assert.Null(certificates.Find(name + ".localhost"));
        }

        await UntilAsync(Obtained, 2);
        await RegisterAsync("three");
        Assert.Null(certificates.Find("three.localhost"));
        await UntilAsync(NotObtained, 1);
        Assert.Contains("the share of one agent", Assert.Single(certificates.Refusals).Reason, StringComparison.Ordinal);
        await RegisterAsync("other", "b");
        Assert.Null(certificates.Find("other.localhost"));
        await UntilAsync(Obtained, 3);
        await AdvanceAsync(TimeSpan.FromMinutes(62));
        Assert.Null(certificates.Find("three.localhost"));
        await UntilAsync(Obtained, 4);
        Assert.Empty(certificates.Refusals);
    }

    [Fact]
    public async Task A_certificate_is_renewed_after_two_thirds_of_its_life_and_names_the_one_before()
    {
        await using var certificates = Start("Acme:Names=www.example.test");
        await UntilAsync(Obtained, 1);
        var first = certificates.Find("www.example.test");
        _time.Advance(TimeSpan.FromDays(58));
        await LookedAsync();
        Assert.Equal(1, _authority.Orders);
        _time.Advance(TimeSpan.FromDays(3));
        await UntilAsync(Obtained, 2);
        Assert.NotEqual(first!.Fingerprint, certificates.Find("www.example.test")!.Fingerprint);
        Assert.Contains("\"replaces\":\"", _authority.LastOrder, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_authority_says_when_to_renew_and_cannot_make_it_renew_without_end()
    {
        var now = _time.GetUtcNow();
        _authority.Window = (now.AddDays(20), now.AddDays(21));
        await using var certificates = Start("Acme:Names=www.example.test");
        await UntilAsync(Obtained, 1);
        _time.Advance(TimeSpan.FromDays(19));
        await LookedAsync();
        Assert.Equal(1, _authority.Orders);
        _time.Advance(TimeSpan.FromDays(3));
        await UntilAsync(Obtained, 2);

        // From now on each certificate should have been renewed long ago.
        _authority.Window = (now.AddDays(-20), now.AddDays(-19));
        await AdvanceAsync(TimeSpan.FromHours(8));
        Assert.Equal(2, _log.Of(Obtained).Count);
    }

    [Fact]
    public async Task A_renewal_that_fails_leaves_the_certificate_in_use()
    {
        await using var certificates = Start("Acme:Names=www.example.test");
        await UntilAsync(Obtained, 1);
        var first = certificates.Find("www.example.test");
        _authority.Visit = static (_, _, _) => false;
        _time.Advance(TimeSpan.FromDays(61));
        await UntilAsync(NotObtained, 1);
        Assert.Same(first, certificates.Find("www.example.test"));
        Assert.Equal(1, certificates.Refused);
        var refusal = Assert.Single(certificates.Refusals);
        Assert.Equal("www.example.test", refusal.Name);
        Assert.NotEmpty(refusal.Reason);
        Assert.True(refusal.NextTry > _time.GetUtcNow());
    }

    [Fact]
    public async Task A_state_that_was_destroyed_is_no_reason_to_fail()
    {
        await using (Start("Acme:Names=www.example.test"))
        {
            await UntilAsync(Obtained, 1);
        }

        foreach (var file in Directory.GetFiles(_folder, "*", SearchOption.AllDirectories).Where(
            static file => !file.EndsWith("account.pem", StringComparison.Ordinal)))
        {
            File.WriteAllText(file, "{\"failures\":[7,{\"name\":1}],\"orders\":\"");
        }

        await using var again = Start("Acme:Names=www.example.test");
        await UntilAsync(Obtained, 2);
        Assert.NotNull(again.Find("www.example.test"));
    }

    [Fact]
    public async Task Times_at_the_end_of_all_times_hold_up_no_name()
    {
        // RFC 5280 section 4.1.2.5: a certificate without a well-defined end.
        var last = new DateTimeOffset(9999, 12, 31, 23, 59, 59, TimeSpan.Zero);
        _authority.Life = (TimeSpan.FromHours(-1), last - _time.GetUtcNow());
        await using (Start("Acme:Names=old.example.test"))
        {
            await UntilAsync(Obtained, 1);
        }

        var state = Assert.Single(Directory.GetFiles(_folder, "state.json", SearchOption.AllDirectories));
        File.WriteAllText(
            state, $$"""{"failures":[{"name":"gone.example.test","count":1,"nextTry":"{{last:O}}"}],"orders":["{{last:O}}"]}""");
        _authority.Life = (TimeSpan.FromHours(-1), TimeSpan.FromDays(90));
        await using var again = Start("Acme:Names=new.example.test");
        await UntilAsync(Obtained, 2);
        await AdvanceAsync(TimeSpan.FromMinutes(2));
        Assert.NotNull(again.Find("new.example.test"));
        Assert.DoesNotContain(_log.Lines, static line => line.Line.Contains("Exception", StringComparison.Ordinal));
    }

    [Fact]
    public async Task An_operator_lists_certificates_and_has_one_renewed_at_once()
    {
        await using var certificates = Start("Acme:Names=www.example.test");
        await UntilAsync(Obtained, 1);
        var (code, output, _) = await CommandAsync("list");
        Assert.Equal(0, code);
        Assert.Contains("www.example.test", output, StringComparison.Ordinal);
        Assert.DoesNotContain("PRIVATE", output, StringComparison.Ordinal);

        (code, output, _) = await CommandAsync("renew", "www.example.test");
        Assert.Equal((0, true), (code, output.Contains("within a minute", StringComparison.Ordinal)));
        await LookedAsync();
        await UntilAsync(Obtained, 2);
        await LookedAsync();
        Assert.Equal(2, _authority.Orders);
    }

    [Fact]
    public async Task An_operator_sees_in_the_list_why_a_name_has_no_certificate_and_when_it_is_tried_again()
    {
        _authority.Visit = static (_, _, _) => false;
        await using var certificates = Start("Acme:Names=www.example.test");
        await UntilAsync(NotObtained, 1);
        var refusal = Assert.Single(certificates.Refusals);
        var next = refusal.NextTry!.Value.UtcDateTime.ToString("yyyy-MM-dd HH:mm'Z'", CultureInfo.InvariantCulture);
        var (code, output, _) = await CommandAsync("list");
        Assert.Equal(0, code);
        Assert.Equal($"not obtained: {refusal.Reason}; next try {next}  (ca.test: www.example.test)", output.TrimEnd());

        (_, output, _) = await CommandAsync("list", "--json");
        using var json = JsonDocument.Parse(output);
        var one = Assert.Single(json.RootElement.EnumerateArray());
        Assert.Equal(refusal.Reason, one.GetProperty("problem").GetString());
        Assert.Equal(refusal.NextTry.Value.UtcDateTime, one.GetProperty("nextTry").GetDateTime());
    }

    [Fact]
    public async Task A_call_has_one_renewed_without_a_look_at_the_clock_and_no_name_that_the_server_does_not_know()
    {
        await using var certificates = Start("Acme:Names=www.example.test");
        await UntilAsync(Obtained, 1);
        Assert.True(certificates.TryAskRenewal("www.example.test"));
        await WaitSignal.UntilAsync(() => _log.Of(Obtained).Count == 2, "it is renewed, while the clock is stopped");
        foreach (var name in new[] { "other.example.test", "../../x", "", "*" })
        {
            Assert.False(certificates.TryAskRenewal(name));
        }
    }

    [Fact]
    public async Task An_operator_renews_no_name_that_the_server_does_not_know()
    {
        Assert.Equal(1, (await CommandAsync("renew", "other.example.test")).Code);
        Assert.Equal(1, (await CommandAsync("renew", "../../x")).Code);
        Assert.Equal(2, (await CommandAsync("renew")).Code);
        Assert.Equal(2, (await CommandAsync("list", "nonsense")).Code);
        Assert.Equal(2, (await CommandAsync("list", "--Tunnel2:Domain=:")).Code);
        Assert.False(Directory.Exists(Path.Combine(_folder, "acme", "renew")));
    }

    [Fact]
    public async Task An_operator_learns_whether_the_authority_answers()
    {
        var (code, output, _) = await CommandAsync("test");
        Assert.Equal((0, true), (code, output.Contains("ca.test answers", StringComparison.Ordinal)));
        _authority.Instead = static (_, _) => Task.FromResult(FakeAuthority.Answer(503, "text/plain", ""));
        (code, _, var error) = await CommandAsync("test");
        Assert.Equal((1, true), (code, error.Contains("status 503", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("Acme:Directory=http://ca.test/", "Acme:Directory")]
    [InlineData("Acme:Directory=https://user@ca.test/", "Acme:Directory")]
    [InlineData("Acme:AcceptTerms=false", "Acme:AcceptTerms")]
    [InlineData("Acme:Names=*.example.test", "Acme:Names")]
    [InlineData("Acme:Names=exa mple.test", "Acme:Names")]
    [InlineData("Acme:Names=../x.test", "Acme:Names")]
    [InlineData("Acme:Names=127.0.0.1", "Acme:Names")]
    [InlineData("Acme:Names=localhost", "Acme:Names")]
    [InlineData("Acme:Challenge=dns-01", "Acme:Challenge")]
    [InlineData("Acme:DnsHook=/nowhere/hook", "Acme:DnsHook")]
    [InlineData("Acme:EabKeyId=x", "Acme:EabKey")]
    [InlineData("Acme:EabKey=AAAAAAAAAAAAAAAAAAAAAAAA", "Acme:EabKeyId")]
    [InlineData("Acme:Ca=/nowhere.pem", "Acme:Ca")]
    [InlineData("Acme:Email=nobody", "Acme:Email")]
    [InlineData("Public:HttpsListen=off", "Acme:Directory")]
    public void A_setting_that_cannot_work_is_a_mistake(string setting, string key)
    {
        var settings = Settings().Where(one => one.Split('=')[0] != setting.Split('=')[0]).Append(setting).ToArray();
        Assert.Contains(SettingsFixture.Load(settings).Errors, error => error.Key == "Tunnel2:" + key);
    }

    [Fact]
    public void The_key_of_the_account_is_in_no_message() => Assert.DoesNotContain(
        "s3cr3t", string.Join('\n', SettingsFixture.Load([.. Settings(), "Acme:EabKeyId=x", "Acme:EabKey=s3cr3t!"]).Errors),
        StringComparison.Ordinal);

    public void Dispose()
    {
        _authority.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private string[] Settings() =>
    [
        "Acme:Directory=" + FakeAuthority.Directory, "Acme:AcceptTerms=true", "Public:HttpsListen=127.0.0.1:0",
        "StateFolder=" + _folder,
    ];

    private AutomaticCertificates Start(params string[] settings)
    {
        var certificates = new AutomaticCertificates(
            SettingsFixture.LoadValid([.. Settings(), .. settings]), _directory, new PendingChallenges(), _time, _log, _authority);
        certificates.Start();
        _running = certificates;
        return certificates;
    }

    private async Task<(int Code, string Output, string Error)> CommandAsync(params string[] words)
    {
        using var output = new StringWriter();
        using var error = new StringWriter();
        string[] settings = [.. Settings().Select(static setting => "--Tunnel2:" + setting)];
        var code = await CertificatesCommand.RunAsync(["certificate", .. words, .. settings], output, error, _authority);
        return (code, output.ToString(), error.ToString());
    }

    private async Task RegisterAsync(string name, string agent = "a") =>
        Assert.Equal(
            RegistrationStatus.Registered,
            (await _directory.RegisterAsync(Sample.Session(name, agent), CancellationToken.None)).Status);

    /// <summary>Lets time pass until there are so many lines of an event.</summary>
    private async Task UntilAsync(int id, int lines)
    {
        await IdleAsync();
        for (var look = 0; look < 500 && _log.Of(id).Count < lines; look++)
        {
            await LookedAsync();
        }

        Assert.InRange(_log.Of(id).Count, lines, int.MaxValue);
    }

    /// <summary>Lets time pass, minute by minute.</summary>
    private async Task AdvanceAsync(TimeSpan time)
    {
        for (var passed = TimeSpan.Zero; passed < time; passed += AutomaticCertificates.Period)
        {
            await LookedAsync();
        }
    }

    /// <summary>A minute later, the task has looked what is due, and has done it.</summary>
    private async Task LookedAsync()
    {
        await IdleAsync();
        var before = _running!.Looks;
        _time.Advance(AutomaticCertificates.Period);
        await WaitSignal.UntilAsync(() => _running.Looks > before, "the task has looked");
        await IdleAsync();
    }

    /// <summary>While the task works the clock is stopped: otherwise the time for an answer would be over.</summary>
    private Task IdleAsync() => WaitSignal.UntilAsync(
        () => _running is { Looks: > 0, Waiting: 0 }, "the task has looked, and has nothing to do");
}
