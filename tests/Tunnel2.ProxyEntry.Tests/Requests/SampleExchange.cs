using System.IO.Pipelines;
using System.Net;
using System.Text;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Routing;

namespace Tunnel2.ProxyEntry.Tests.Requests;

/// <summary>A visitor's exchange of which only what logs and traces read is there.</summary>
internal sealed class SampleExchange : VisitorExchange
{
    private static readonly IPAddress _address = IPAddress.Parse("203.0.113.9");

    public override string Method => "GET";

    public override string Authority => "web.localhost:12000";

    public override string Target => HasTarget ? "/path?token=secret" : throw new NotSupportedException("The target is made a text.");

    /// <summary>Whether the target may be made a text.</summary>
    public bool HasTarget { get; init; } = true;

    public override int CopyTarget(Span<byte> destination)
    {
        var target = "/path?token=secret"u8;
        target = target[..Math.Min(target.Length, destination.Length)];
        target.CopyTo(destination);
        return target.Length;
    }

    public override IPAddress? RemoteAddress { get; } = _address;

    public override string RequestId => "0HN:00000001";

    public override int CopyForwardedFor(Span<byte> destination) => 0;

    public override bool HasBody => false;

    public override bool ExpectsContinue => false;

    public override bool IsUpgrade => AsksForUpgrade;

    /// <summary>Whether it asks to switch protocols.</summary>
    public bool AsksForUpgrade { get; init; }

    public override ProxyError? Fault => null;

    public override PipeReader RequestBody => throw new NotSupportedException();

    public override bool HasResponseStarted => false;

    public override bool ResponseMayHaveBody => true;

    public override CancellationToken VisitorLeft => default;

    public override long? BodySent => HasSent;

    /// <summary>What the front knows of the body's bytes.</summary>
    public long? HasSent { get; init; }

    /// <summary>The one field that the request has, or null.</summary>
    public (string Name, string Value)? Field { get; init; }

    public override int CopyField(ReadOnlySpan<byte> name, Span<byte> destination) =>
        Field is { } field && Ascii.EqualsIgnoreCase(name, field.Name) ? Encoding.ASCII.GetBytes(field.Value, destination) : -1;

    public override void WriteRequestBlock(ref HeaderBlockWriter writer) => throw new NotSupportedException();

    public override RequestAddress Address => throw new NotSupportedException();

    public override void Forward(in PathAddress path) => throw new NotSupportedException();

    public override bool WriteInterim(scoped in HeaderBlock head) => throw new NotSupportedException();

    public override bool TryStartResponse(scoped in HeaderBlock head, bool declaresLength) => throw new NotSupportedException();

    public override void SendTrailers(scoped in HeaderBlock trailers) => throw new NotSupportedException();

    public override void WriteBody(ReadOnlySpan<byte> data) => throw new NotSupportedException();

    public override ValueTask<bool> FlushAsync() => throw new NotSupportedException();

    public override ValueTask<UpgradedConnection> UpgradeAsync() => throw new NotSupportedException();

    public override Task WriteErrorAsync(ProxyError error, ErrorDetails details) => throw new NotSupportedException();

    public override Task WriteAnswerAsync(ErrorResponse answer) => throw new NotSupportedException();

    public override ValueTask CutAsync(bool isShort) => throw new NotSupportedException();

    public override void Abort() => (OnAbort ?? throw new NotSupportedException())();

    public override object? Place => HasPlace ? Connection ?? this : null;

    /// <summary>Whether its visitor has a place at this server.</summary>
    public bool HasPlace { get; init; } = true;

    /// <summary>The visitor's connection; null: it has one for itself.</summary>
    public object? Connection { get; init; }

    public override void GiveUpPlace() => HasGivenUp = true;

    /// <summary>Whether its place was needed.</summary>
    public bool HasGivenUp { get; private set; }

    /// <summary>What happens where the visitor's connection is cut.</summary>
    public Action? OnAbort { get; init; }
}
