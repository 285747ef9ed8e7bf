using Tunnel2.Client.Core.Backend;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>How an attempt to have a request answered on one connection ended.</summary>
/// <param name="Outcome">How far it came.</param>
/// <param name="Failure">What the backend did wrong, or none.</param>
/// <param name="Reusable">Whether the connection may carry another request, as far as the response goes.</param>
/// <param name="Surplus">Whether bytes came after the response that are no part of it.</param>
internal readonly record struct AttemptEnd(AttemptOutcome Outcome, BackendFailure Failure, bool Reusable, bool Surplus = false);

/// <summary>How far an attempt came.</summary>
internal enum AttemptOutcome
{
    /// <summary>The whole response is in the stream.</summary>
    Answered,

    /// <summary>Nothing of a response to this request came.</summary>
    NothingCame,

    /// <summary>It failed in its course.</summary>
    Failed,
}
