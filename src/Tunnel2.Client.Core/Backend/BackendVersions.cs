using System.Net.Security;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Which version of HTTP a request goes to the service in, by the setting and by what was found out about the service. Thread-safe.
/// </summary>
internal sealed class BackendVersions
{
    private readonly BackendProtocol _setting;
    private readonly bool _isHttps;
    private volatile bool _hasNoHttp2;
    private volatile bool _hasOnlyHttp2;

    public BackendVersions(BackendTarget target, BackendProtocol setting)
    {
        _setting = target.IsHttp2 ? BackendProtocol.Http2 : setting;
        _isHttps = target.IsHttps;
        Offers = IsForced ? [SslApplicationProtocol.Http2] : [SslApplicationProtocol.Http2, SslApplicationProtocol.Http11];
    }

    /// <summary>Whether the user has said that the service speaks HTTP/2: then nothing else is tried.</summary>
    public bool IsForced => _setting == BackendProtocol.Http2;

    /// <summary>What a TLS handshake offers (ALPN) where HTTP/2 is wanted.</summary>
    public List<SslApplicationProtocol> Offers { get; }

    /// <summary>
    /// Whether a request goes in HTTP/2 as far as it is known. Over TLS the service chooses; without, gRPC alone says it, because it has no
    /// other version.
    /// </summary>
    /// <param name="isGrpc">Whether it is a gRPC request.</param>
    /// <param name="isOtherUpgrade">Whether it asks for a switch to a protocol other than WebSocket, which HTTP/2 does not have.</param>
    public bool WantsHttp2(bool isGrpc, bool isOtherUpgrade) => _setting switch
    {
        BackendProtocol.Http1 => false,
        BackendProtocol.Http2 => true,
        _ => _hasOnlyHttp2 || (!_hasNoHttp2 && !isOtherUpgrade && (_isHttps || isGrpc)),
    };

    /// <summary>
    /// The service has not answered a request in HTTP/2. Where it was found out that it speaks nothing else, that may be wrong.
    /// </summary>
    public void FoundSilent() => _hasOnlyHttp2 = false;

    /// <summary>The service did not agree to HTTP/2.</summary>
    public void FoundNoHttp2() => (_hasNoHttp2, _hasOnlyHttp2) = (true, false);

    /// <summary>The service does not understand HTTP/1.1.</summary>
    public void FoundOnlyHttp2() => (_hasNoHttp2, _hasOnlyHttp2) = (false, _setting == BackendProtocol.Auto);

    /// <summary>What listens there next may be another program.</summary>
    public void Forget() => (_hasNoHttp2, _hasOnlyHttp2) = (false, false);
}
