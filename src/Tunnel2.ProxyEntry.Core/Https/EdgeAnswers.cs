using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Https;

/// <summary>What ProxyEntry answers before any tunnel sees the request. Thread-safe.</summary>
/// <param name="https">The redirect to HTTPS.</param>
/// <param name="challenges">Answers that a certificate authority asks for.</param>
internal sealed class EdgeAnswers(HttpsRules https, PendingChallenges challenges)
{
    /// <summary>The redirect to HTTPS.</summary>
    public HttpsRules Https => https;

    /// <summary>Whether any request may have such an answer now: all that other requests pay.</summary>
    public bool IsOn => https.Redirects || challenges.HasHttp || challenges.Others is not null;

    /// <summary>Whether <see cref="FindElsewhereAsync"/> has to be asked first.</summary>
    public bool MayBeElsewhere(VisitorExchange exchange) => challenges.MayBeOfOther(exchange);

    /// <summary>The answer to the visit of an authority that another node awaits; null for all other requests.</summary>
    public ValueTask<ErrorResponse?> FindElsewhereAsync(VisitorExchange exchange) => challenges.FindAnswerOfOtherAsync(exchange);

    /// <summary>The answer to a request; null when it goes to its tunnel.</summary>
    public ErrorResponse? Find(VisitorExchange exchange) => challenges.FindAnswer(exchange) ?? https.FindRedirect(exchange);
}
