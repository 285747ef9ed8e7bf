using System.ComponentModel;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>A finished request.</summary>
internal sealed record RequestInfo
{
    [Description("In a cluster: the node that has served it.")]
    public string? Node { get; init; }

    [Description("When it arrived.")]
    public required DateTimeOffset StartedAt { get; init; }

    [Description("The method; OTHER for one that records do not have.")]
    public required string Method { get; init; }

    [Description("The target, cut where it is long; with its query only where Live:Query says so.")]
    public required string Target { get; init; }

    [Description("Whether the target was cut.")]
    public required bool TargetTruncated { get; init; }

    [Description("The status that the visitor got; 0 for none.")]
    public required int Status { get; init; }

    [Description("The code of the error, as in docs/errors.md; missing where there was none.")]
    public string? Error { get; init; }

    [Description("Until its head was given to an uplink, µs.")]
    public required long QueueUs { get; init; }

    [Description("Until the response's head arrived, µs; 0 where none did.")]
    public required long FirstByteUs { get; init; }

    [Description("From its arrival to its end, µs.")]
    public required long TotalUs { get; init; }

    [Description("Bytes of the request's body.")]
    public required long BytesIn { get; init; }

    [Description("Bytes of the response's body.")]
    public required long BytesOut { get; init; }

    [Description("Whether it became a WebSocket, or another connection without end.")]
    public required bool Upgraded { get; init; }
}
