using Tunnel2.FunctionalTests.Harness.Http2;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>A service that was asked for a WebSocket on a stream of HTTP/2 (RFC 8441).</summary>
internal sealed class Http2ServiceSide(Http2ServiceConnection service, Http2ServiceRequest request) : UpgradeSide
{
    private readonly List<byte> _received = [];
    private bool _hasEnded;

    /// <inheritdoc/>
    public override async Task<(string? Protocols, string? Extensions)> AcceptAsync(string? protocol, string? extensions)
    {
        Assert.Equal(("CONNECT", "websocket"), (request[":method"], request[":protocol"]));
        await service.RespondAsync(request.Id, end: false, [(":status", "200"), .. Fields(protocol, extensions)]);
        return (request["sec-websocket-protocol"], request["sec-websocket-extensions"]);
    }

    /// <inheritdoc/>
    public override async Task RefuseAsync()
    {
        await service.RespondAsync(request.Id, end: false, (":status", "403"), ("content-length", "2"));
        await service.WriteAsync(0, 1, request.Id, "no"u8.ToArray());
    }

    /// <inheritdoc/>
    public override Task SendAsync(byte[] bytes, bool end) => service.WriteAsync(0, (byte)(end ? 1 : 0), request.Id, bytes);

    /// <inheritdoc/>
    public override async Task<byte[]> ReadAsync(int count)
    {
        while (_received.Count < count && !_hasEnded)
        {
            await ReadFrameAsync();
        }

        var bytes = _received.Take(count).ToArray();
        _received.RemoveRange(0, bytes.Length);
        return bytes;
    }

    /// <inheritdoc/>
    public override async Task<byte[]> ReadToEndAsync()
    {
        while (!_hasEnded)
        {
            await ReadFrameAsync();
        }

        return [.. _received];
    }

    /// <inheritdoc/>
    public override Task BreakAsync(uint code) => service.ResetAsync(request.Id, code);

    /// <inheritdoc/>
    public override async Task<string> ReadBreakAsync() => $"RST_STREAM {await service.ReadResetAsync(request.Id)}";

    private async Task ReadFrameAsync()
    {
        var frame = await service.ReadUntilAsync(frame => frame.Type == 0 && frame.Id == request.Id);
        _received.AddRange(frame.Payload);
        _hasEnded |= (frame.Flags & 1) != 0;
    }
}
