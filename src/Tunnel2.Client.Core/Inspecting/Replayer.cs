using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Http1;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Replays;
using Tunnel2.Policies.Paths;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Inspecting;

/// <summary>
/// Sends a request again: through the tunnel, as a visitor, where the server's public listener can be reached from here, and otherwise
/// straight to the service; the result says which. Nothing is sent twice. Thread-safe.
/// </summary>
internal sealed class Replayer
{
    private const int MostUrls = 3;
    private const int HeadBuffer = 128 * 1024;
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(60);

    private readonly AgentOptions _options;
    private readonly AgentInspection _inspection;
    private readonly RequestHeadEncoder _heads;
    private readonly RouteMap? _routes;
    private readonly TimeProvider _time;

    public Replayer(AgentOptions options, AgentInspection inspection, TimeProvider time)
    {
        _options = options;
        _inspection = inspection;
        _heads = new RequestHeadEncoder(options.Upstream, options.HostHeader);
        _routes = options.Routes.Count == 0 ? null : new RouteMap(options.Routes);
        _time = time;
    }

    /// <summary>Sends it and waits for the whole answer.</summary>
    public async Task<ReplayResult> ReplayAsync(ReplayRequest request, CancellationToken cancellationToken)
    {
        using var limit = new CancellationTokenSource(_limit, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, cancellationToken);
        var note = "there is no public URL now";

        // First that with the scheme of the first request: a server may send others away.
        foreach (var url in PublicUrl.AllOf(_inspection.PublicUrls, request.Authority, request.IsSecure).Take(MostUrls))
        {
            var (connection, error) = await ReplayConnector.ToServerAsync(_options.Server, url, _time, either.Token).ConfigureAwait(false);
            if (connection is not null)
            {
                await using (connection.ConfigureAwait(false))
                {
                    return await TunnelReplay.RunAsync(_inspection.Store, connection, request, url, _time, either.Token)
                        .ConfigureAwait(false);
                }
            }

            note = $"the server's public listener cannot be reached from here ({error})";
        }

        return await ToServiceAsync(request, note, either.Token).ConfigureAwait(false);
    }

    private async Task<ReplayResult> ToServiceAsync(ReplayRequest request, string note, CancellationToken cancellationToken)
    {
        const string Via = "service";
        var block = ReplayMessage.BlockOf(request);
        var route = RouteMap.None;
        if (_routes is not null && HeaderBlock.TryRead(block, out var read) == ProtocolError.None)
        {
            route = _routes.Find(read.Target, new RequestPath());
        }

        if (route == RouteMap.Unclear)
        {
            return new ReplayResult(Via, note, null, "The path can be read in several ways, which lead to different services.");
        }

        var (target, heads) = route == RouteMap.None ? (_options.Upstream, _heads) : ServiceOf(_options.Routes[route]);
        if (ForService(request, block, heads) is not { } bytes)
        {
            return new ReplayResult(Via, note, null, "The request is not HTTP.");
        }

        var (connection, refusal) = await ReplayConnector.ToServiceAsync(target, _time, cancellationToken).ConfigureAwait(false);
        if (connection is null)
        {
            return new ReplayResult(Via, note, null, $"The service cannot be reached: {refusal}.");
        }

        await using (connection.ConfigureAwait(false))
        {
            if (_inspection.Store.Begin(block) is not { } capture)
            {
                return new ReplayResult(Via, note, null, "There is no room to keep the answer.");
            }

            capture.ReplayOf = request.Source;
            capture.Via = Via;
            capture.Service = _routes is null ? null : target.ToString();
            capture.OnConnected();
            capture.OnRequestBody(request.Body);
            capture.OnSent();
            capture.OnRequestTrailers(TrailerBlock.Of(request.Trailers));
            capture.OnRequestEnded();
            var exchange = new ReplayExchange(_inspection.Store.Limits.BodyBytes, capture);
            var error = await exchange.RunAsync(connection, bytes, KnownMethods.Classify(request.Method), cancellationToken)
                .ConfigureAwait(false);
            capture.OnEnded(error is null ? null : "backend", error);
            return new ReplayResult(Via, note, capture, error);
        }
    }

    private (BackendTarget Target, RequestHeadEncoder Heads) ServiceOf(ServiceRoute route) => (
        route.Target, new RequestHeadEncoder(route.Target, _options.HostHeader, route.StripsPrefix ? route.Path.Length : 0));

    /// <summary>The request as the agent sends it to the service; null where it is not HTTP.</summary>
    private static byte[]? ForService(ReplayRequest request, ReadOnlySpan<byte> block, RequestHeadEncoder heads)
    {
        var framing = ReplayMessage.HasLength(request) ? RequestFraming.Length
            : ReplayMessage.IsChunked(request) ? RequestFraming.Chunked
            : RequestFraming.None;
        var buffer = new byte[HeadBuffer];
        return block.Length > 0
            && HeaderBlock.TryRead(block, out var read) == ProtocolError.None
            && heads.Write(read, framing, buffer, out var written) == HeadWriteStatus.Ok
            ? [.. buffer.AsSpan(0, written), .. ReplayMessage.BodyOf(request)]
            : null;
    }
}
