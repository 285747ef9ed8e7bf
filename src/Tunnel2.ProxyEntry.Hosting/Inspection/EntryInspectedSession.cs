using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Masking;
using Tunnel2.Inspection.Replays;
using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Inspection;

/// <summary>
/// A session of this server that is inspected. A replay is a visitor's request to this server's own front, over a connection in memory:
/// with the name and the scheme of the first one. The server's listeners and their redirects play no part.
/// </summary>
internal sealed class EntryInspectedSession : IInspectedSession
{
    private const int HttpPort = 80;
    private const int HttpsPort = 443;

    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(60);

    private readonly Http1Front _front;
    private readonly PublicAddresses _addresses;
    private readonly TimeProvider _time;
    private long _until;

    public EntryInspectedSession(string name, ExchangeStore store, Http1Front front, PublicAddresses addresses, TimeProvider time)
    {
        _front = front;
        Name = name;
        Store = store;
        _addresses = addresses;
        _time = time;
    }

    /// <inheritdoc/>
    public string Name { get; }

    /// <inheritdoc/>
    public ExchangeStore Store { get; }

    /// <inheritdoc/>
    public MaskingRules Rules => MaskingRules.BuiltIn;

    /// <inheritdoc/>
    public IReadOnlyList<string> PublicUrls => _addresses.All(Name);

    /// <inheritdoc/>
    /// <remarks>It is the server.</remarks>
    public bool IsCutOff => false;

    /// <inheritdoc/>
    public string Upstream => "";

    /// <inheritdoc/>
    public DateTimeOffset? Until
    {
        get => new DateTimeOffset(Volatile.Read(ref _until), TimeSpan.Zero);
        set => Volatile.Write(ref _until, value?.UtcTicks ?? 0);
    }

    /// <inheritdoc/>
    public async Task<ReplayResult> ReplayAsync(ReplayRequest request, CancellationToken cancellationToken)
    {
        if (PublicUrl.AllOf(PublicUrls, request.Authority, request.IsSecure).FirstOrDefault() is not { } url)
        {
            return new ReplayResult("tunnel", null, null, "The request is for a name that this session does not have.");
        }

        using var limit = new CancellationTokenSource(_limit, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, cancellationToken);
        var port = request.IsSecure ? _addresses.Https?.Port ?? HttpsPort : _addresses.Http?.Port ?? HttpPort;
        await using var connection = new InnerConnection(_front, request.IsSecure, port);
        return await TunnelReplay.RunAsync(Store, connection, request, url, _time, either.Token).ConfigureAwait(false);
    }
}
