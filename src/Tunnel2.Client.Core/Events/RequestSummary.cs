namespace Tunnel2.Client.Core.Events;

/// <summary>One finished request, as <c>--verbose</c> shows it.</summary>
/// <param name="Method">Such as <c>GET</c>.</param>
/// <param name="Target">The request target; its query is never shown, because queries carry secrets.</param>
/// <param name="StatusCode">The final status of the backend's answer, or 0 when there was none.</param>
/// <param name="Duration">From the request's head to the end of both directions.</param>
/// <param name="RequestBytes">Bytes of the request's body.</param>
/// <param name="ResponseBytes">Bytes of the answer's body.</param>
/// <param name="Error">What went wrong, or null.</param>
/// <param name="Leg">Where it went wrong: <c>visitor</c>, <c>uplink</c>, <c>agent</c> or <c>backend</c>; null when nothing did.</param>
public readonly record struct RequestSummary(
    string Method,
    string Target,
    int StatusCode,
    TimeSpan Duration,
    long RequestBytes,
    long ResponseBytes,
    string? Error = null,
    string? Leg = null)
{
    /// <summary>The service that it went to, where the tunnel has several; else null.</summary>
    public string? Service { get; init; }
}
