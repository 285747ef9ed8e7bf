using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Access.Bearer;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>What <see cref="AccessGate"/> keeps of a request with a login. Requests of sessions without rules have none.</summary>
internal sealed class AccessNote : RequestNote
{
    /// <summary>The rules that let the request in; null: none has yet.</summary>
    public AccessPolicy? Admitted { get; set; }

    /// <summary>The rules that the login is for.</summary>
    public AccessPolicy? Policy { get; set; }

    /// <summary>The login that has to be checked by the slow hash; null: none has.</summary>
    public BasicLogin? Login { get; set; }

    /// <summary>The token that has to be checked; null: none has.</summary>
    public PendingToken? Token { get; set; }

    /// <summary>The sealed session that has to be opened; null: none has.</summary>
    public PendingSession? Session { get; set; }

    /// <summary>The request for a path of a gate that has to be answered; null: it is none.</summary>
    public SignInVisit? Visit { get; set; }

    /// <summary>The answer in place of the error's own; null: there is none.</summary>
    public ErrorResponse? Answer { get; set; }

    /// <summary>How long the visitor should wait; null: it is not limited.</summary>
    public int? RetryAfterSeconds { get; set; }
}
