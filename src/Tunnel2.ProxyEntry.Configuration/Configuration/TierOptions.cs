namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>One set of limits that agents' tokens can name: keys <c>Tunnel2:Tiers:&lt;name&gt;:*</c>.</summary>
public sealed class TierOptions
{
    /// <summary>
    /// Requests a second that each session of the tier may get: a whole number from 1 to 1,000,000, or <c>unlimited</c>. Required. What exceeds
    /// it is answered with 429.
    /// </summary>
    public string? RequestsPerSecond { get; set; }

    /// <summary>
    /// Requests that may come at one instant after a pause: a whole number from 1 to 1,000,000. Default: one second's worth. A page that loads
    /// forty files needs forty.
    /// </summary>
    public string? Burst { get; set; }
}
