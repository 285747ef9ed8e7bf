using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>How the server is.</summary>
internal sealed record HealthInfo
{
    [Description("starting, ready, troubled (ready, with a trouble that will pass) or draining.")]
    public required string Status { get; init; }

    [Description("The reason, in words.")]
    public required string Reason { get; init; }

    [Description("The server's version.")]
    public required string Version { get; init; }

    [Description("Setting EntryId.")]
    public required string EntryId { get; init; }

    [Description("Setting Domain.")]
    public required string Domain { get; init; }

    [Description("Sessions registered now.")]
    public required int Sessions { get; init; }

    [Description("Requests that wait for an agent now.")]
    public required int WaitingRequests { get; init; }

    [Description("Certificates that cannot be used or renewed.")]
    public required int CertificatesRefused { get; init; }
}
