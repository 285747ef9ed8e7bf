using Tunnel2.Inspection.Capture;

namespace Tunnel2.Inspection.Replays;

/// <summary>How a replay went.</summary>
/// <param name="Via">Its way: <c>tunnel</c>, through the public URL, or <c>service</c>, straight to the service.</param>
/// <param name="Note">Why this way, where it was not the first choice; or null.</param>
/// <param name="Capture">The exchange that it made; null where it failed before there was one.</param>
/// <param name="Error">What went wrong, or null.</param>
internal sealed record ReplayResult(string Via, string? Note, ExchangeCapture? Capture, string? Error);
