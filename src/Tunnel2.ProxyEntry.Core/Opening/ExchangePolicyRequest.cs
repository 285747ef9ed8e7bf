using System.Net;
using System.Text;
using Tunnel2.Policies.Paths;
using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>A visitor's request as the rows of a policy see it. What no row asks for is not read. It is reused.</summary>
internal sealed class ExchangePolicyRequest : PolicyRequest
{
    private const int LongestMethod = 32;
    private const int CountryLength = 2;

    private readonly RequestPath _path = new();
    private readonly byte[] _method = new byte[LongestMethod + 1];
    private VisitorExchange _exchange = null!;
    private TrustedProxySet _trusted = null!;
    private byte[]? _countryField;
    private IPAddress? _address;
    private string? _country;
    private int _methodLength;
    private bool _hasPath;
    private bool _hasAddress;
    private bool _hasCountry;

    /// <inheritdoc/>
    public override ReadOnlySpan<byte> Method => _method.AsSpan(0, _methodLength);

    /// <inheritdoc/>
    public override RequestPath Path
    {
        get
        {
            if (!_hasPath)
            {
                _hasPath = true;
                ReadPath();
            }

            return _path;
        }
    }

    /// <inheritdoc/>
    public override IPAddress? Address
    {
        get
        {
            if (!_hasAddress)
            {
                _hasAddress = true;
                _address = VisitorOrigin.Find(_exchange, _trusted);
            }

            return _address;
        }
    }

    /// <inheritdoc/>
    public override string? Country
    {
        get
        {
            if (!_hasCountry)
            {
                _hasCountry = true;
                _country = ReadCountry();
            }

            return _country;
        }
    }

    /// <inheritdoc/>
    public override bool IsCountryInDoubt => _countryField is { } name
        && _exchange.IsFromTrustedProxy
        && _exchange.FieldValues(Encoding.ASCII.GetString(name), withLookalikes: false) is { Length: > 0 } lines
        && (lines.Length > 1 || lines[0].Contains(',', StringComparison.Ordinal));

    /// <inheritdoc/>
    public override string[] Values(string name, bool withLookalikes) => _exchange.FieldValues(name, withLookalikes);

    /// <summary>Path and query as the service would get them. Makes a text, so it is for redirects.</summary>
    public string Target => _exchange.ForwardedTarget;

    /// <summary>Begins a request.</summary>
    /// <param name="exchange">The request, after <see cref="VisitorExchange.Forward"/>.</param>
    /// <param name="trusted">The proxies whose words count.</param>
    /// <param name="countryField">The field in which they say the visitor's country; null: there is none.</param>
    public void Begin(VisitorExchange exchange, TrustedProxySet trusted, byte[]? countryField)
    {
        _exchange = exchange;
        _trusted = trusted;
        _countryField = countryField;
        _hasPath = false;
        _hasAddress = false;
        _hasCountry = false;
        _address = null;

        // A WebSocket over HTTP/2 is a CONNECT there, and a GET for the service.
        _methodLength = exchange.CopyMethod(_method);
        if (exchange.IsUpgrade && Method.SequenceEqual("CONNECT"u8))
        {
            "GET"u8.CopyTo(_method);
            _methodLength = "GET"u8.Length;
        }
    }

    /// <summary>The walk is over: nothing of the request is kept.</summary>
    public void End()
    {
        _exchange = null!;
        _path.Release();
    }

    private void ReadPath()
    {
        Span<byte> target = stackalloc byte[RequestPath.MaxLength + 2];
        target = target[.._exchange.CopyForwardedTarget(target)];
        var query = target.IndexOf((byte)'?');
        _path.Read(query < 0 ? target : target[..query]);
    }

    private string? ReadCountry()
    {
        Span<byte> value = stackalloc byte[CountryLength];
        return _countryField is not null
            && _exchange.IsFromTrustedProxy
            && _exchange.CopyField(_countryField, value) == CountryLength
            && char.IsAsciiLetter((char)value[0])
            && char.IsAsciiLetter((char)value[1])
            ? Encoding.ASCII.GetString(value).ToUpperInvariant()
            : null;
    }
}
