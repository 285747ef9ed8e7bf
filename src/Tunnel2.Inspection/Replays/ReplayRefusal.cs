namespace Tunnel2.Inspection.Replays;

/// <summary>Why a request is not sent again.</summary>
/// <param name="Code">A stable word.</param>
/// <param name="Message">One sentence.</param>
internal sealed record ReplayRefusal(string Code, string Message);
