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
    public bool IsOn => https.Redirects || challenges.HasHttp;

    /// <summary>The answer to a request; null when it goes to its tunnel.</summary>
    public ErrorResponse? Find(VisitorExchange exchange) => challenges.FindAnswer(exchange) ?? https.FindRedirect(exchange);
}
