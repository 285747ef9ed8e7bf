using System.Buffers;
using System.Net;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Fronts;

/// <summary>
/// Writes for the backend who sent the request and how: <c>X-Forwarded-*</c> and <c>Forwarded</c> (RFC 7239). The visitor's own fields are
/// replaced, unless the peer is a trusted proxy: then its values are kept and its address is added. Values that stay the same on a
/// connection are made once. Each element of <c>Forwarded</c> that it adds says through how many tunnels the request has come
/// (<see cref="TunnelCount"/>). Used by one request at a time.
/// </summary>
internal sealed class ForwardingFields
{
    /// <summary>Room for a trusted proxy's values that is kept between requests, in bytes.</summary>
    private const int UsualWords = 4 * 1024;

    private readonly VisitorAddress _address;
    private readonly byte[] _scheme;
    private readonly byte[] _addressText;
    private readonly byte[] _port;
    private readonly ArrayBufferWriter<byte>[] _words;
    private byte[]? _host;
    private byte[] _forwarded = [];
    private int _tunnels;

    /// <summary>Sets the values that stay the same on a connection.</summary>
    /// <param name="remote">The peer.</param>
    /// <param name="localPort">The port it called.</param>
    /// <param name="isTls">Whether it used TLS.</param>
    /// <param name="trusted">The trusted proxies.</param>
    public ForwardingFields(IPAddress? remote, int localPort, bool isTls, TrustedProxySet trusted)
    {
        _address = new VisitorAddress(remote);
        _addressText = Encoding.ASCII.GetBytes(_address.Text);
        _scheme = isTls ? "https"u8.ToArray() : "http"u8.ToArray();
        _port = Encoding.ASCII.GetBytes(FormattableString.Invariant($"{localPort}"));
        IsTls = isTls;
        IsTrusted = !trusted.IsEmpty && trusted.Contains(_address.Address);
        _words = IsTrusted ? new ArrayBufferWriter<byte>[KnownField.XForwardedPort - KnownField.Forwarded + 1] : [];
        ForgetWords();
    }

    /// <summary>The peer's address.</summary>
    public IPAddress? Address => _address.Address;

    /// <summary>The peer's scheme.</summary>
    public ReadOnlySpan<byte> Scheme => _scheme;

    /// <summary>Whether the peer uses TLS.</summary>
    public bool IsTls { get; }

    /// <summary>Whether the peer is a trusted proxy, whose values are kept.</summary>
    public bool IsTrusted { get; }

    /// <summary>Begins a request, before any <see cref="Keep(KnownField, ReadOnlySpan{byte})"/> of it.</summary>
    public void Begin()
    {
        _tunnels = 0;
        if (IsTrusted)
        {
            ForgetWords();
        }
    }

    /// <summary>
    /// Keeps a value if the peer is a trusted proxy; otherwise only how many tunnels it names. Values of one field become one list, without
    /// empty elements.
    /// </summary>
    /// <param name="known">A field whose rule is <see cref="FieldRule.Forwarding"/>.</param>
    /// <param name="value">Its value.</param>
    public void Keep(KnownField known, ReadOnlySpan<byte> value)
    {
        if (known == KnownField.Forwarded)
        {
            _tunnels = Math.Max(_tunnels, TunnelCount.Read(value));
        }

        if (IsTrusted && !value.IsEmpty)
        {
            BeginElement(known).Write(value);
        }
    }

    /// <summary>The same for a value whose characters are bytes.</summary>
    public void Keep(KnownField known, string value)
    {
        if (known == KnownField.Forwarded && value.Contains(TunnelCount.Name, StringComparison.Ordinal))
        {
            _tunnels = Math.Max(_tunnels, TunnelCount.Read(Encoding.Latin1.GetBytes(value)));
        }

        if (IsTrusted && value.Length > 0)
        {
            var words = BeginElement(known);
            words.Advance(Encoding.Latin1.GetBytes(value, words.GetSpan(value.Length)));
        }
    }

    /// <summary>Writes the fields.</summary>
    /// <param name="writer">The writer.</param>
    /// <param name="authority">The request's Host.</param>
    /// <returns>Whether the request has come through too many tunnels: then it goes round in a loop.</returns>
    public bool Write(ref HeaderBlockWriter writer, ReadOnlySpan<byte> authority)
    {
        if (_host is null || !authority.SequenceEqual(_host))
        {
            SetHost(authority.ToArray());
        }

        return Write(ref writer);
    }

    /// <summary>The same with a Host whose characters are bytes.</summary>
    public bool Write(ref HeaderBlockWriter writer, string authority)
    {
        if (_host is null || !Ascii.Equals(_host, authority))
        {
            SetHost(Encoding.Latin1.GetBytes(authority));
        }

        return Write(ref writer);
    }

    private bool Write(ref HeaderBlockWriter writer)
    {
        var isLoop = _tunnels >= TunnelCount.Most;
        if (IsTrusted)
        {
            WriteAfterOthers(ref writer);
            return isLoop;
        }

        writer.AddField("X-Forwarded-For"u8, _addressText);
        writer.AddField("X-Forwarded-Host"u8, _host);
        writer.AddField("X-Forwarded-Proto"u8, _scheme);
        writer.AddField("X-Forwarded-Port"u8, _port);
        writer.AddField("Forwarded"u8, OwnElement());
        return isLoop;
    }

    /// <summary>Keeps a trusted proxy's values and adds its own address.</summary>
    private void WriteAfterOthers(ref HeaderBlockWriter writer)
    {
        var saidHost = Words(KnownField.XForwardedHost);
        var saidScheme = Words(KnownField.XForwardedProto);
        var saidPort = Words(KnownField.XForwardedPort);
        var isSaid = saidHost.Length > 0 || saidScheme.Length > 0;
        var host = saidHost.IsEmpty ? _host : saidHost;
        var scheme = saidScheme.IsEmpty ? _scheme : saidScheme;
        Keep(KnownField.XForwardedFor, _addressText);
        var addresses = Words(KnownField.XForwardedFor);
        writer.AddField("X-Forwarded-For"u8, addresses);
        writer.AddField("X-Forwarded-Host"u8, host);
        writer.AddField("X-Forwarded-Proto"u8, scheme);
        Span<byte> digits = stackalloc byte[ProxiedVisitor.LongestPort];
        writer.AddField("X-Forwarded-Port"u8, saidPort.Length > 0 ? saidPort : isSaid ? ProxiedVisitor.Port(host, scheme, digits) : _port);
        if (isSaid && Words(KnownField.Forwarded).IsEmpty)
        {
            Keep(
                KnownField.Forwarded,
                ProxiedVisitor.Forwarded(Text(addresses), Text(host), Text(scheme)) + TunnelCount.Text(_tunnels + 1));
        }
        else
        {
            Keep(KnownField.Forwarded, OwnElement());
        }

        writer.AddField("Forwarded"u8, Words(KnownField.Forwarded));
    }

    private void SetHost(byte[] host)
    {
        _host = host;
        _forwarded = MakeElement(1);
    }

    /// <summary>
    /// The element of <c>Forwarded</c> (RFC 7239). It is the same for all requests to one host that come through no other tunnel.
    /// </summary>
    private byte[] OwnElement() => _tunnels == 0 ? _forwarded : MakeElement(_tunnels + 1);

    private byte[] MakeElement(int tunnels) =>
        Encoding.Latin1.GetBytes(_address.ForwardedText(Text(_host), Text(_scheme)) + TunnelCount.Text(tunnels));

    private ReadOnlySpan<byte> Words(KnownField known) => _words[known - KnownField.Forwarded].WrittenSpan;

    private ArrayBufferWriter<byte> BeginElement(KnownField known)
    {
        var words = _words[known - KnownField.Forwarded];
        if (words.WrittenCount > 0)
        {
            words.Write(", "u8);
        }

        return words;
    }

    private void ForgetWords()
    {
        foreach (ref var words in _words.AsSpan())
        {
            if (words is { Capacity: <= UsualWords })
            {
                words.ResetWrittenCount();
            }
            else
            {
                // Larger than usual: it is not kept for the next request.
                words = new ArrayBufferWriter<byte>();
            }
        }
    }

    private static string Text(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);
}
