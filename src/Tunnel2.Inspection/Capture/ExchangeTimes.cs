namespace Tunnel2.Inspection.Capture;

/// <summary>When the legs of an exchange were over, each as the time after its begin; null: not yet, or never. Immutable.</summary>
/// <param name="Connected">A connection to the service was there.</param>
/// <param name="Sent">The request's head was sent.</param>
/// <param name="RequestEnded">The request's body was sent whole.</param>
/// <param name="Answered">The response's head came.</param>
/// <param name="Ended">The exchange was over.</param>
internal readonly record struct ExchangeTimes(
    TimeSpan? Connected, TimeSpan? Sent, TimeSpan? RequestEnded, TimeSpan? Answered, TimeSpan? Ended);
