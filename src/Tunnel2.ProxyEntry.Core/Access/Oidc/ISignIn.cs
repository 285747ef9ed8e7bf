using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Access.Oidc;

/// <summary>The gates where visitors sign in at an OpenID Connect provider. Thread-safe.</summary>
internal interface ISignIn
{
    /// <summary>The user of a session that was opened before; null: it has to be opened.</summary>
    /// <param name="place">The gate and the tunnel.</param>
    /// <param name="session">The session.</param>
    byte[]? FindUser(in SignInPlace place, in LoginKey session);

    /// <summary>Opens the sealed session of a cookie, on the pool.</summary>
    /// <param name="place">The gate and the tunnel.</param>
    /// <param name="session">The session.</param>
    /// <param name="cancellationToken">The visitor left.</param>
    /// <exception cref="OperationCanceledException">The visitor left.</exception>
    Task<SignInVerdict> OpenAsync(SignInPlace place, PendingSession session, CancellationToken cancellationToken);

    /// <summary>Answers a request for one of a gate's own paths.</summary>
    /// <param name="place">The gate and the tunnel.</param>
    /// <param name="visit">The request.</param>
    /// <returns>The answer, or why there is none.</returns>
    Task<(ErrorResponse? Answer, ProxyError Error)> ServeAsync(SignInPlace place, SignInVisit visit);
}

/// <summary>A gate, and the tunnel that it guards: a session is for one of each.</summary>
/// <param name="Gate">The name of the gate.</param>
/// <param name="Tunnel">The public name.</param>
internal readonly record struct SignInPlace(string Gate, string Tunnel);

/// <summary>What the sealed session of a cookie says.</summary>
/// <param name="User">Whose it is, as a field's value; null: it opens nothing.</param>
/// <param name="IsBusy">Whether too many are opened at once, or the gate is not there.</param>
internal readonly record struct SignInVerdict(byte[]? User, bool IsBusy = false);

/// <summary>A request for one of a gate's own paths. Immutable.</summary>
/// <param name="Method">The method.</param>
/// <param name="Authority">Host and port, as the visitor wrote them.</param>
/// <param name="Target">Path and query.</param>
/// <param name="Cookies">The cookies; empty: none.</param>
/// <param name="IsCrossSite">Whether a page of another host made the browser send it.</param>
/// <param name="From">The visitor's address.</param>
internal sealed record SignInVisit(
    string Method, string Authority, string Target, string Cookies, bool IsCrossSite, AddressKey From)
{
    /// <summary>Never the cookies, nor a code in the query.</summary>
    public override string ToString() => nameof(SignInVisit);
}
