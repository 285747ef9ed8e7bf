using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A renewal that was asked for.</summary>
internal sealed record RenewalRequest
{
    [Description("The name of the certificate.")]
    public required string Name { get; init; }
}
