using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A certificate in use.</summary>
internal sealed record CertificateInfo
{
    [Description("Who sees it: visitors, agents or relay.")]
    public required string Use { get; init; }

    [Description("Its subject.")]
    public required string Subject { get; init; }

    [Description("Its SHA-256.")]
    public required string Fingerprint { get; init; }

    [Description("The begin of its validity.")]
    public required DateTimeOffset NotBefore { get; init; }

    [Description("The end of its validity.")]
    public required DateTimeOffset NotAfter { get; init; }
}
