using Tunnel2.FunctionalTests.Harness.Http2;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>A visitor with a WebSocket on a stream of HTTP/2 (RFC 8441).</summary>
internal sealed class Http2VisitorSide(Http2Visitor visitor) : UpgradeSide
{
    private Http2VisitorStream? _stream;

    /// <inheritdoc/>
    public override async Task<(int Status, string? Protocol, string? Extensions)> OpenAsync(string? protocols, string? extensions)
    {
        _stream = await visitor.ConnectAsync("/ws", "http", Fields(protocols, extensions));
        var (status, fields) = await _stream.ReadAnswerAsync();
        return (status, fields["sec-websocket-protocol"].SingleOrDefault(), fields["sec-websocket-extensions"].SingleOrDefault());
    }

    /// <inheritdoc/>
    public override async Task<string> ReadBodyAsync() => (await _stream!.ReadWholeAsync()).Body;

    /// <inheritdoc/>
    public override Task SendAsync(byte[] bytes, bool end) => _stream!.WriteAsync(bytes, end);

    /// <inheritdoc/>
    public override Task<byte[]> ReadAsync(int count) => _stream!.ReadAsync(count);

    /// <inheritdoc/>
    public override Task<byte[]> ReadToEndAsync() => _stream!.ReadToEndAsync();

    /// <inheritdoc/>
    public override Task BreakAsync(uint code) => _stream!.ResetAsync(code);

    /// <inheritdoc/>
    public override async Task<string> ReadBreakAsync() => $"RST_STREAM {await _stream!.WaitForResetAsync()}";
}
