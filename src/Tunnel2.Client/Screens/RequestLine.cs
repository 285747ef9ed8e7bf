namespace Tunnel2.Client.Screens;

/// <summary>A request that has ended, as the screen shows it. Its texts are clean.</summary>
/// <param name="Time">When it ended.</param>
/// <param name="Method">Its method.</param>
/// <param name="Path">Its path, without a query.</param>
/// <param name="Status">The status, or 0 for none.</param>
/// <param name="Duration">How long it took.</param>
/// <param name="Trouble">What went wrong and where, or null.</param>
internal sealed record RequestLine(
    DateTimeOffset Time, string Method, string Path, int Status, TimeSpan Duration, string? Trouble);
