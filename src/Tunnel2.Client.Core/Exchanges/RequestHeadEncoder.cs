using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Writes the HTTP/1.1 request head that the backend gets. It is made anew from the block's parts, each of them checked, so that what a
/// visitor or a ProxyEntry smuggled into one part cannot become another. Immutable.
/// </summary>
internal sealed class RequestHeadEncoder
{
    private readonly TargetMapping _targets;
    private readonly byte[]? _host;

    /// <param name="target">The service.</param>
    /// <param name="hostHeader">Which Host it sees.</param>
    /// <param name="stripped">Bytes that are taken off the beginning of each path.</param>
    public RequestHeadEncoder(BackendTarget target, HostHeaderPolicy hostHeader, int stripped = 0)
    {
        _targets = new TargetMapping(target, stripped);
        _host = hostHeader.ValueFor(target) is { } host ? Encoding.ASCII.GetBytes(host) : null;
    }

    /// <summary>Writes the head.</summary>
    /// <param name="block">The request block.</param>
    /// <param name="framing">How the body will be framed.</param>
    /// <param name="destination">Where to.</param>
    /// <param name="written">Bytes written.</param>
    public HeadWriteStatus Write(scoped in HeaderBlock block, RequestFraming framing, Span<byte> destination, out int written)
    {
        var writer = new HeadWriter(destination);
        writer.WriteRequestLine(block.Method, _targets.Map(block.Target));
        var hostWritten = false;
        var lengthWritten = false;
        if (!HasHost(block))
        {
            writer.WriteField("Host"u8, _host ?? block.Authority);
            hostWritten = true;
        }

        foreach (var field in block.Fields)
        {
            switch (KnownFields.Classify(field.Name))
            {
                case KnownField.Host:
                    if (!hostWritten)
                    {
                        writer.WriteField(field.Name, _host ?? field.Value);
                        hostWritten = true;
                    }

                    break;
                case KnownField.ContentLength:
                    if (!lengthWritten)
                    {
                        writer.WriteField(field.Name, field.Value);
                        lengthWritten = true;
                    }

                    break;
                case KnownField.Upgrade when framing == RequestFraming.Raw:
                    var protocols = UpgradeSyntax.Forwardable(field.Value);
                    if (!protocols.IsEmpty)
                    {
                        writer.WriteField(field.Name, protocols);
                    }

                    break;
                case KnownField.Te when Ascii.EqualsIgnoreCase(field.Value, TeSyntax.Trailers):
                    // Meant for us as much as for the backend: trailers cross the wire.
                    writer.WriteField(field.Name, field.Value);
                    break;
                case var known when EndsHere(FieldRules.OfRequest(known)):
                    // What the rule refuses, the plan has refused.
                    break;
                default:
                    writer.WriteField(field.Name, field.Value);
                    break;
            }
        }

        switch (framing)
        {
            case RequestFraming.Chunked:
                writer.WriteCheckedLines("Transfer-Encoding: chunked\r\n"u8);
                break;
            case RequestFraming.Raw:
                writer.WriteCheckedLines("Connection: Upgrade\r\n"u8);
                break;
            default:
                break;
        }

        var status = writer.WriteEnd();
        written = writer.Written;
        return status;
    }

    /// <summary>What the rules leave to a condition is ProxyEntry's to decide, except what belongs to its hop.</summary>
    private static bool EndsHere(FieldRule rule) => rule is FieldRule.Drop or FieldRule.Refuse or FieldRule.Trailers or FieldRule.Protocols;

    private static bool HasHost(scoped in HeaderBlock block)
    {
        foreach (var field in block.Fields)
        {
            if (KnownFields.Classify(field.Name) == KnownField.Host)
            {
                return true;
            }
        }

        return false;
    }
}
