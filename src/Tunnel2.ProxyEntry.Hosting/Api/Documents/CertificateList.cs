using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>The certificates in use, the first to end first.</summary>
internal sealed record CertificateList
{
    [Description("The certificates; of those that are chosen by name the first 50 to end.")]
    public required IReadOnlyList<CertificateInfo> Certificates { get; init; }

    [Description("How many there are in all.")]
    public required int Total { get; init; }

    [Description("How many could not be used, or not be renewed, at the last look.")]
    public required int Refused { get; init; }
}
