namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>What operators see of a certificate that cannot be used, or not be obtained.</summary>
/// <param name="Name">Its file, or the name that it is for.</param>
/// <param name="Reason">Why, in words; empty when that is not known any more.</param>
internal sealed record CertificateRefusal(string Name, string Reason)
{
    /// <summary>How many of one place are shown.</summary>
    public const int MostShown = 50;

    /// <summary>When it is tried again by itself; null: when its file changes.</summary>
    public DateTimeOffset? NextTry { get; init; }
}
