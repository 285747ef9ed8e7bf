using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Tests.Access.Oidc;

/// <summary>Gates in memory: a session is right when its text is <see cref="Session"/>.</summary>
internal sealed class ScriptedSignIn : ISignIn
{
    public const string Session = "right";

    private LoginKey? _known;

    /// <summary>What the visits to the gate's own paths were.</summary>
    public List<string> Visits { get; } = [];

    /// <summary>How many sessions were opened.</summary>
    public int Opened { get; private set; }

    public byte[]? FindUser(in SignInPlace place, in LoginKey session) => _known == session ? "alice@example.com"u8.ToArray() : null;

    public async Task<SignInVerdict> OpenAsync(SignInPlace place, PendingSession session, CancellationToken cancellationToken)
    {
        await Task.Yield();
        Opened++;
        if (session.Text != Session)
        {
            return new SignInVerdict(null, IsBusy: session.Text == "busy");
        }

        _known = session.Key;
        return new SignInVerdict("alice@example.com"u8.ToArray());
    }

    public async Task<(ErrorResponse? Answer, ProxyError Error)> ServeAsync(SignInPlace place, SignInVisit visit)
    {
        await Task.Yield();
        Visits.Add($"{place.Gate} {place.Tunnel} {visit.Method} {visit.Target}");
        return visit.Target == SignInPaths.Login ? (new ErrorResponse(302, [], default), default) : (null, ProxyError.SignInFailed);
    }
}
