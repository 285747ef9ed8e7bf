using System.Text;
using Microsoft.AspNetCore.DataProtection;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Oidc;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.ProxyEntry.Tests.Acme;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Oidc;

/// <summary>A sign-out at one node of a cluster counts at the others.</summary>
public sealed class SharedSignOutsTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-test-").FullName;
    private readonly ManualTimeProvider _time = new();
    private readonly SharedMemory _shared = new();
    private readonly EphemeralDataProtectionProvider _protection = new();
    private readonly List<Node> _nodes = [];
    private readonly OidcGate _gate = new(SettingsFixture.LoadValid(
        "Oidc:staff:Authority=https://id.example", "Oidc:staff:ClientId=tunnel", "Oidc:staff:AllowEmails=alice@example.com").Gates[0]);

    public void Dispose()
    {
        _nodes.ForEach(static node => node.SignOuts.Dispose());
        Directory.Delete(_folder, recursive: true);
    }

    [Fact]
    public async Task A_copy_of_a_cookie_is_refused_at_every_node_after_the_sign_out_at_one()
    {
        var (first, second) = (Start("one"), Start("two"));
        var (known, unknown, other) = (Seal(first), Seal(first), Seal(first));
        Assert.NotNull(second.Sessions.Open(_gate, "web", known));
        await SignOutAsync(first, known);
        await SignOutAsync(first, unknown);
        await _shared.LookAsync();
        Assert.Null(second.Sessions.Find(new SignInPlace("staff", "web"), known.Key));
        Assert.Null(second.Sessions.Open(_gate, "web", known));
        Assert.Null(second.Sessions.Open(_gate, "web", unknown));
        Assert.NotNull(second.Sessions.Open(_gate, "web", other));

        // And after a restart.
        var again = Start("three");
        await _shared.LookAsync();
        Assert.Null(again.Sessions.Open(_gate, "web", known));
    }

    [Fact]
    public async Task A_sign_out_while_the_database_is_away_counts_at_the_others_when_it_is_back()
    {
        var (first, second) = (Start("one"), Start("two"));
        var cookie = Seal(first);
        _shared.IsAway = true;
        await SignOutAsync(first, cookie);
        Assert.Null(first.Sessions.Open(_gate, "web", cookie));
        _shared.IsAway = false;
        await _shared.LookAsync();

        // What the look has begun ends with this one.
        await SignOutAsync(first, Seal(first));
        await _shared.LookAsync();
        Assert.Null(second.Sessions.Open(_gate, "web", cookie));
    }

    [Fact]
    public async Task A_cookie_that_signs_out_again_and_again_is_shared_once()
    {
        var node = Start("one");
        var cookie = Seal(node);
        await SignOutAsync(node, cookie);
        var version = (await ReadAsync()).Newest;
        await SignOutAsync(node, cookie);
        _time.Advance(TimeSpan.FromHours(11));
        await SignOutAsync(node, cookie);
        Assert.Equal(version, (await ReadAsync()).Newest);
    }

    [Fact]
    public async Task Sign_outs_whose_session_is_over_at_every_clock_make_room()
    {
        var node = Start("one");
        for (var i = 0; i < 2; i++)
        {
            await SignOutAsync(node, Seal(node));
        }

        // What is no sign-out is removed with them.
        var generation = (await ReadAsync()).Generation;
        await _shared.PutAsync(SharedSignOuts.SharedKind, generation, new SharedDocument("x", "y"u8.ToArray()), 10, default);
        await _shared.LookAsync();
        _time.Advance(TimeSpan.FromHours(9));
        await SignOutAsync(node, Seal(node));
        Assert.Equal(3, (await ReadAsync()).Documents.Count);
        _time.Advance(TimeSpan.FromHours(2));
        await SignOutAsync(node, Seal(node));
        Assert.Equal(2, (await ReadAsync()).Documents.Count);
    }

    private Task SignOutAsync(Node node, PendingSession cookie) =>
        node.SignOuts.ShareAsync(node.Sessions.End(_gate, "web", cookie.Text)!);

    private async Task<SharedSet> ReadAsync() => (await _shared.ReadAsync(SharedSignOuts.SharedKind, 0, 10, default))!;

    private Node Start(string name)
    {
        var sessions = new OidcSessions(_protection, _time);
        var node = new Node(sessions, new SharedSignOuts(
            sessions, _shared, Path.Combine(_folder, name), _time, new ContainedFaults(), NullLogger.Instance));
        _nodes.Add(node);
        return node;
    }

    private PendingSession Seal(Node node)
    {
        var text = node.Sessions.Seal(_gate, "web", OidcSession.Begin("alice@example.com", [], _time.GetUtcNow().AddHours(8)));
        return new PendingSession(text, LoginKey.Of(Encoding.ASCII.GetBytes(text)), default);
    }

    private sealed record Node(OidcSessions Sessions, SharedSignOuts SignOuts);
}
