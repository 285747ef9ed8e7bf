using System.Text;
using Microsoft.AspNetCore.DataProtection;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Oidc;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Oidc;

public sealed class OidcSessionsTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly OidcSessions _sessions;
    private readonly OidcGate _gate = GateOf();

    public OidcSessionsTests() => _sessions = new OidcSessions(new EphemeralDataProtectionProvider(), _time);

    [Fact]
    public void A_session_opens_its_own_tunnel_until_its_end()
    {
        var cookie = Seal(8);
        Assert.Null(_sessions.Find(new SignInPlace("staff", "web"), cookie.Key));
        Assert.Equal("alice@example.com"u8.ToArray(), _sessions.Open(_gate, "web", cookie));
        Assert.NotNull(_sessions.Find(new SignInPlace("staff", "web"), cookie.Key));
        Assert.Null(_sessions.Find(new SignInPlace("staff", "api"), cookie.Key));
        Assert.Null(_sessions.Find(new SignInPlace("other", "web"), cookie.Key));
        Assert.Null(_sessions.Open(_gate, "api", cookie));
        _time.Advance(TimeSpan.FromHours(8));
        Assert.Null(_sessions.Find(new SignInPlace("staff", "web"), cookie.Key));
        Assert.Null(_sessions.Open(_gate, "web", cookie));
    }

    [Theory]
    [InlineData("Oidc:staff:ClientId=other")]
    [InlineData("Oidc:staff:Authority=https://other.example")]
    [InlineData("Oidc:staff:AllowEmails=bob@example.com")]
    public void A_session_of_other_settings_opens_nothing(string setting)
    {
        var cookie = Seal(8);
        Assert.Null(_sessions.Open(GateOf(setting), "web", cookie));
        Assert.NotNull(_sessions.Open(GateOf("Oidc:staff:AllowGroups=ops"), "web", cookie));
    }

    [Fact]
    public void A_session_of_another_server_opens_nothing()
    {
        var other = new OidcSessions(new EphemeralDataProtectionProvider(), _time);
        Assert.Null(other.Open(_gate, "web", Seal(8)));
    }

    [Theory]
    [InlineData("")]
    [InlineData("x")]
    [InlineData("====")]
    [InlineData("CfDJ8AAAAAAAAAAAAAAAAAAAAAA")]
    public void What_was_never_sealed_opens_nothing(string cookie) =>
        Assert.Null(_sessions.Open(_gate, "web", new PendingSession(cookie, LoginKey.Of(Encoding.ASCII.GetBytes(cookie)), default)));

    [Fact]
    public void A_session_that_was_ended_opens_nothing_known_or_not()
    {
        var (known, unknown, other) = (Seal(8), Seal(8), Seal(8));
        Assert.NotNull(_sessions.Open(_gate, "web", known));
        _sessions.End(_gate, "web", known.Text);
        _sessions.End(_gate, "web", unknown.Text);
        _sessions.End(_gate, "api", other.Text);
        Assert.Null(_sessions.Find(new SignInPlace("staff", "web"), known.Key));
        Assert.Null(_sessions.Open(_gate, "web", known));
        Assert.Null(_sessions.Open(_gate, "web", unknown));
        Assert.NotNull(_sessions.Open(_gate, "web", other));
    }

    [Fact]
    public void Remembered_sessions_are_bounded()
    {
        var first = Seal(8);
        _sessions.Open(_gate, "web", first);
        for (var i = 0; i < OidcSessions.Most; i++)
        {
            // The same session under other keys: what is remembered is the key of a cookie.
            _sessions.Open(_gate, "web", new PendingSession(first.Text, LoginKey.Of(BitConverter.GetBytes(i)), default));
        }

        Assert.Null(_sessions.Find(new SignInPlace("staff", "web"), first.Key));
        Assert.NotNull(_sessions.Find(new SignInPlace("staff", "web"), LoginKey.Of(BitConverter.GetBytes(0))));
    }

    [Fact]
    public void Sessions_outlive_a_restart_and_their_keys_are_for_their_owner_only()
    {
        var folder = Directory.CreateTempSubdirectory("tunnel2-test-");
        try
        {
            var settings = SettingsFixture.LoadValid($"StateFolder={folder.FullName}");
            string text;
            using (var first = OidcServices.Create(settings, [_gate], _time))
            {
                var session = OidcSession.Begin("alice@example.com", [], _time.GetUtcNow().AddHours(1));
                text = ((OidcSessions)first.GetService(typeof(OidcSessions))!).Seal(_gate, "web", session);
            }

            using var second = OidcServices.Create(settings, [_gate], _time);
            var cookie = new PendingSession(text, LoginKey.Of(Encoding.ASCII.GetBytes(text)), default);
            Assert.NotNull(((OidcSessions)second.GetService(typeof(OidcSessions))!).Open(_gate, "web", cookie));
            Assert.Single(Directory.GetFiles(Path.Combine(folder.FullName, "sign-in")));
            if (!OperatingSystem.IsWindows())
            {
                Assert.Equal(
                    UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute,
                    File.GetUnixFileMode(Path.Combine(folder.FullName, "sign-in")));
            }
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Theory]
    [InlineData("alice@example.com", true)]
    [InlineData("ALICE@example.com", true)]
    [InlineData("bob@example.com", false)]
    [InlineData("bob@friends.example", true)]
    [InlineData("bob@a.friends.example", false)]
    [InlineData("bob@friends.example@evil.example", false)]
    public void The_lists_say_who_enters(string email, bool enters) =>
        Assert.Equal(enters, GateOf("Oidc:staff:AllowDomains=friends.example").Allows(email, []));

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("alice")]
    [InlineData("alice@example.com ")]
    [InlineData("alice@example.com\r\nX: y")]
    [InlineData("\u00e4lice@example.com")]
    public void An_address_that_cannot_be_a_fields_value_is_no_user(string? email) => Assert.Null(OidcGate.UserOf(email));

    private static OidcGate GateOf(params string[] settings)
    {
        string[] all =
        [
            .. settings, "Oidc:staff:Authority=https://id.example", "Oidc:staff:ClientId=tunnel",
            "Oidc:staff:AllowEmails=alice@example.com",
        ];
        return new OidcGate(SettingsFixture.LoadValid([.. all.DistinctBy(static one => one.Split('=')[0])]).Gates[0]);
    }

    private PendingSession Seal(int hours)
    {
        var text = _sessions.Seal(_gate, "web", OidcSession.Begin("alice@example.com", [], _time.GetUtcNow().AddHours(hours)));
        return new PendingSession(text, LoginKey.Of(Encoding.ASCII.GetBytes(text)), default);
    }
}
