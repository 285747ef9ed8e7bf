using System.Net;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// Writes a visitor's fields into its request block as they came, without what is hop-by-hop (RFC 9110 section 7.6.1), and behind them who
/// forwarded what. What does not change on a connection is made once. Used by one request at a time.
/// </summary>
internal sealed class VisitorFields
{
    private readonly VisitorAddress _address;
    private readonly byte[] _scheme;
    private readonly byte[] _addressText;
    private readonly byte[] _port;
    private readonly bool _isTrusted;
    private byte[] _forwardedHost = [];
    private byte[] _forwarded = [];

    public VisitorFields(IPEndPoint? remote, int localPort, bool isTls, TrustedProxySet trusted)
    {
        _address = new VisitorAddress(remote?.Address);
        _addressText = Encoding.ASCII.GetBytes(_address.Text);
        _scheme = isTls ? "https"u8.ToArray() : "http"u8.ToArray();
        _port = Encoding.ASCII.GetBytes(_address.PortText(localPort));
        _isTrusted = !trusted.IsEmpty && trusted.Contains(_address.Address);
    }

    /// <summary>The peer's address.</summary>
    public IPAddress? Address => _address.Address;

    /// <summary>The scheme the visitor used.</summary>
    public ReadOnlySpan<byte> Scheme => _scheme;

    /// <summary>Copies what a trusted peer says in <c>X-Forwarded-For</c>; nothing of any other peer.</summary>
    /// <returns>How many bytes were copied.</returns>
    public int CopyForwardedFor(RequestHeadParser parser, ReadOnlySpan<byte> head, Span<byte> destination)
    {
        var written = 0;
        if (_isTrusted)
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

    /// <summary>Writes all fields.</summary>
    /// <param name="writer">Where to; the block has been begun.</param>
    /// <param name="parser">The request.</param>
    /// <param name="head">What it was parsed from.</param>
    /// <param name="authority">The Host that the visitor asked for.</param>
    /// <param name="isUpgrade">Whether the visitor asks to switch protocols, and may.</param>
    /// <param name="extras">What ProxyEntry adds, or null.</param>
    public void Write(ref HeaderBlockWriter writer, RequestHeadParser parser, ReadOnlySpan<byte> head, ReadOnlySpan<byte> authority, bool isUpgrade, ExchangeExtras? extras)
    {
        foreach (ref readonly var field in parser.Fields)
        {
            var name = field.Name(head);
            switch (field.Known)
            {
                case KnownField.Upgrade when isUpgrade:
                    var protocols = UpgradeSyntax.Forwardable(field.Value(head));
                    if (!protocols.IsEmpty)
                    {
                        writer.AddField(name, protocols);
                    }

                    continue;
                case KnownField.Te:
                    if (WantsTrailers(field.Value(head)))
                    {
                        writer.AddField(name, "trailers"u8);
                    }

                    continue;
                case KnownField.XRealIp or KnownField.XForwardedOther when _isTrusted:
                    break;
                case KnownField.None or KnownField.TraceParent when extras is not null && extras.Replaces(name):
                    continue;
                case var known when KnownFields.IsForwarding(known) || FieldRules.OfRequest(known) != FieldRule.Pass || parser.IsHopByHop(head, field):
                    // What the rule refuses, the parser has refused.
                    continue;
                default:
                    break;
            }

            writer.AddField(name, field.Value(head));
        }

        extras?.WriteRequestFields(ref writer);
        if (_isTrusted)
        {
            WriteBehindOthers(ref writer, parser, head, authority);
            return;
        }

        writer.AddField("X-Forwarded-For"u8, _addressText);
        writer.AddField("X-Forwarded-Host"u8, authority);
        writer.AddField("X-Forwarded-Proto"u8, _scheme);
        writer.AddField("X-Forwarded-Port"u8, _port);
        writer.AddField("Forwarded"u8, Forwarded(authority));
    }

    /// <summary>A trusted proxy's words are kept, and its own address is added. Allocates.</summary>
    private void WriteBehindOthers(ref HeaderBlockWriter writer, RequestHeadParser parser, ReadOnlySpan<byte> head, ReadOnlySpan<byte> authority)
    {
        var toldHost = Joined(parser, head, KnownField.XForwardedHost);
        var toldScheme = Joined(parser, head, KnownField.XForwardedProto);
        var toldForwarded = Joined(parser, head, KnownField.Forwarded);
        var isTold = toldHost.Length > 0 || toldScheme.Length > 0;
        var addresses = Append(Joined(parser, head, KnownField.XForwardedFor), _addressText);
        var host = Kept(toldHost, authority);
        var scheme = Kept(toldScheme, _scheme);
        var port = isTold ? Encoding.Latin1.GetBytes(ProxiedVisitor.Port(Encoding.Latin1.GetString(host), Encoding.Latin1.GetString(scheme))) : _port;
        writer.AddField("X-Forwarded-For"u8, addresses);
        writer.AddField("X-Forwarded-Host"u8, host);
        writer.AddField("X-Forwarded-Proto"u8, scheme);
        writer.AddField("X-Forwarded-Port"u8, Kept(Joined(parser, head, KnownField.XForwardedPort), port));
        writer.AddField(
            "Forwarded"u8,
            isTold && toldForwarded.Length == 0
                ? Encoding.Latin1.GetBytes(ProxiedVisitor.Forwarded(Encoding.Latin1.GetString(addresses), Encoding.Latin1.GetString(host), Encoding.Latin1.GetString(scheme)))
                : Append(toldForwarded, Forwarded(authority)));
    }

    /// <summary>An element of <c>Forwarded</c> (RFC 7239). It is the same for all requests to one host.</summary>
    private byte[] Forwarded(ReadOnlySpan<byte> authority)
    {
        if (_forwarded.Length == 0 || !authority.SequenceEqual(_forwardedHost))
        {
            _forwardedHost = authority.ToArray();
            _forwarded = Encoding.Latin1.GetBytes(_address.ForwardedText(Encoding.Latin1.GetString(authority), Encoding.ASCII.GetString(_scheme)));
        }

        return _forwarded;
    }

    private static byte[] Joined(RequestHeadParser parser, ReadOnlySpan<byte> head, KnownField known)
    {
        byte[] joined = [];
        foreach (ref readonly var field in parser.Fields)
        {
            if (field.Known == known)
            {
                joined = Append(joined, field.Value(head));
            }
        }

        return joined;
    }

    private static byte[] Append(ReadOnlySpan<byte> before, ReadOnlySpan<byte> added) => before.IsEmpty ? [.. added] : [.. before, (byte)',', (byte)' ', .. added];

    private static ReadOnlySpan<byte> Kept(byte[] before, ReadOnlySpan<byte> own) => before.Length == 0 ? own : before;

    /// <summary>Whether TE names trailers: of what it can say, that is the one thing that crosses the tunnel.</summary>
    private static bool WantsTrailers(ReadOnlySpan<byte> te)
    {
        foreach (var range in te.Split((byte)','))
        {
            var coding = te[range].Trim(" \t"u8);
            if (Ascii.EqualsIgnoreCase(coding, "trailers"u8))
            {
                return true;
            }
        }

        return false;
    }
}
