using System.Net;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// Writes the fields of an HTTP/1.1 request into its block, in their order and by the rules of <see cref="FieldTable"/>, and then the
/// forwarding fields. One object per connection, used by one request at a time.
/// </summary>
internal sealed class VisitorFields
{
    private readonly ForwardingFields _forwarding;

    public VisitorFields(IPEndPoint? remote, int localPort, bool isTls, TrustedProxySet trusted) =>
        _forwarding = new ForwardingFields(remote?.Address, localPort, isTls, trusted);

    /// <summary>Whether the peer uses TLS.</summary>
    public bool IsTls => _forwarding.IsTls;

    /// <summary>Whether the peer is a trusted proxy.</summary>
    public bool IsTrusted => _forwarding.IsTrusted;

    /// <summary>The peer's address.</summary>
    public IPAddress? Address => _forwarding.Address;

    /// <summary>The visitor's scheme.</summary>
    public ReadOnlySpan<byte> Scheme => _forwarding.Scheme;

    /// <summary>Copies a trusted peer's <c>X-Forwarded-For</c>; nothing for any other peer.</summary>
    /// <returns>How many bytes were copied.</returns>
    public int CopyForwardedFor(RequestHeadParser parser, ReadOnlySpan<byte> head, Span<byte> destination)
    {
        var written = 0;
        if (_forwarding.IsTrusted)
        {
            foreach (ref readonly var field in parser.Fields)
            {
                if (field.Known == KnownField.XForwardedFor)
                {
                    written += ProxiedVisitor.AddElement(field.Value(head), destination, written);
                }
            }
        }

        return written;
    }

    /// <summary>
    /// Whether a field that passes otherwise does not, because the visitor lists it in Connection: then the service does not get it.
    /// </summary>
    public static bool IsLeftOut(RequestHeadParser parser, ReadOnlySpan<byte> head, in FieldRange field) =>
        parser.ListsFields
        && FieldRules.OfRequest(field.Known) is FieldRule.Pass or FieldRule.Credentials or FieldRule.Trace
        && parser.IsListedInConnection(head, field.Name(head));

    /// <summary>Writes all fields.</summary>
    /// <param name="writer">The writer, in whose block the fields come next.</param>
    /// <param name="parser">The request.</param>
    /// <param name="head">The bytes of its head.</param>
    /// <param name="authority">The request's Host.</param>
    /// <param name="isUpgrade">Whether the visitor asks to switch protocols and is allowed to.</param>
    /// <param name="extras">What ProxyEntry adds, or null.</param>
    /// <param name="toNode">Whether the cookies of sign-ins are written too: another node reads them.</param>
    /// <returns>Whether the request goes round in a loop.</returns>
    public bool Write(
        ref HeaderBlockWriter writer,
        RequestHeadParser parser,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> authority,
        bool isUpgrade,
        ExchangeExtras? extras,
        bool toNode)
    {
        _forwarding.Begin();
        var listsFields = parser.ListsFields;
        var saidTrailers = false;
        var edits = extras?.RequestEdits;
        foreach (ref readonly var field in parser.Fields)
        {
            switch (FieldRules.OfRequest(field.Known))
            {
                case FieldRule.Keep:
                case FieldRule.TrustedForwarding when _forwarding.IsTrusted:
                    break;
                case FieldRule.Pass:
                case FieldRule.Credentials when extras is null || !extras.HasUsedCredentials:
                case FieldRule.Trace when extras is null || !extras.Replaces(field.Known):
                    if (listsFields && parser.IsListedInConnection(head, field.Name(head)))
                    {
                        continue;
                    }

                    break;
                case FieldRule.Forwarding:
                    _forwarding.Keep(field.Known, field.Value(head));
                    continue;
                case FieldRule.Trailers:
                    if (!saidTrailers && TeSyntax.WantsTrailers(field.Value(head)))
                    {
                        writer.AddField(field.Name(head), TeSyntax.Trailers);
                        saidTrailers = true;
                    }

                    continue;
                case FieldRule.Protocols when isUpgrade:
                    var protocols = UpgradeSyntax.Forwardable(field.Value(head));
                    if (!protocols.IsEmpty)
                    {
                        writer.AddField(field.Name(head), protocols);
                    }

                    continue;
                default:
                    // The parser has already refused what this rule refuses.
                    continue;
            }

            var value = field.Value(head);
            if (edits is not null && edits.Drops(field.Known, field.Name(head), ref value))
            {
                continue;
            }

            if (field.Known == KnownField.Cookie && !toNode && SignInCookie.MayBeIn(value))
            {
                SignInCookie.WriteOthers(ref writer, field.Name(head), value);
                continue;
            }

            writer.AddField(field.Name(head), value);
        }

        extras?.WriteRequestFields(ref writer);
        return _forwarding.Write(ref writer, authority);
    }
}
