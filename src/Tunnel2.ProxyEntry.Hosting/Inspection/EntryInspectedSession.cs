using System.Net;
using System.Net.Sockets;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Masking;
using Tunnel2.Inspection.Replays;
using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Inspection;

/// <summary>A session of this server that is inspected. A replay is a visitor's request to this server's own listener.</summary>
internal sealed class EntryInspectedSession : IInspectedSession
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(60);

    private readonly PublicAddresses _addresses;
    private readonly TimeProvider _time;
    private long _until;

    public EntryInspectedSession(string name, ExchangeStore store, PublicAddresses addresses, TimeProvider time)
    {
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
        if (_addresses.Http is not { } listener)
        {
            return new ReplayResult("tunnel", null, null, "A replay needs a public listener without TLS (Public:HttpListen).");
        }

        using var limit = new CancellationTokenSource(_limit, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, cancellationToken);
        var address = listener.Address.Equals(IPAddress.Any) ? IPAddress.Loopback
            : listener.Address.Equals(IPAddress.IPv6Any) ? IPAddress.IPv6Loopback
            : listener.Address;
        using var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(new IPEndPoint(address, listener.Port), either.Token).ConfigureAwait(false);
            await using var connection = new NetworkStream(socket, ownsSocket: false);
            var url = new Uri(PublicUrls.Last(static url => url.StartsWith("http://", StringComparison.Ordinal)));
            return await TunnelReplay.RunAsync(Store, connection, request, url, _time, either.Token).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            return new ReplayResult("tunnel", null, null, "This server's own public listener cannot be reached.");
        }
    }
}
