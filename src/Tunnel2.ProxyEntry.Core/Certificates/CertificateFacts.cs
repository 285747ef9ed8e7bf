namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>What operators see of a certificate.</summary>
/// <param name="Subject">Its subject.</param>
/// <param name="Fingerprint">Its fingerprint.</param>
/// <param name="NotBefore">The begin of its validity, UTC.</param>
/// <param name="NotAfter">The end of its validity, UTC.</param>
internal sealed record CertificateFacts(string Subject, string Fingerprint, DateTime NotBefore, DateTime NotAfter)
{
    /// <summary>The first names that it is for; empty where it has none.</summary>
    public string Names { get; init; } = "";

    /// <summary>Where it comes from: <c>file</c>, <c>folder</c>, <c>automatic</c> or <c>self-made</c>.</summary>
    public string Origin { get; init; } = "file";
}
