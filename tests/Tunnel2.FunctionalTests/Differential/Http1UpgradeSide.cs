using Tunnel2.FunctionalTests.Upgrades.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>A visitor, or with a request's head a service, that switches protocols in HTTP/1.1.</summary>
internal sealed class Http1UpgradeSide(RawConnection connection, RawHttpHead? request = null) : UpgradeSide
{
    private RawHttpHead? _answer;

    /// <inheritdoc/>
    public override async Task<(int Status, string? Protocol, string? Extensions)> OpenAsync(string? protocols, string? extensions)
    {
        await connection.WriteAsync(
            "GET /ws HTTP/1.1\r\nHost: web.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                + $"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{Lines(protocols, extensions)}\r\n");
        _answer = await connection.ReadHeadAsync();
        if (_answer.StatusCode == 101)
        {
            Assert.Equal("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", _answer["Sec-WebSocket-Accept"]);
        }

        return (
            _answer.StatusCode == 101 ? 200 : _answer.StatusCode,
            _answer["Sec-WebSocket-Protocol"],
            _answer["Sec-WebSocket-Extensions"]);
    }

    /// <inheritdoc/>
    public override async Task<(string? Protocols, string? Extensions)> AcceptAsync(string? protocol, string? extensions)
    {
        await connection.WriteAsync(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                + $"Sec-WebSocket-Accept: {Http2Tunnel.Accept(request!)}\r\n{Lines(protocol, extensions)}\r\n");
        return (request!["Sec-WebSocket-Protocol"], request["Sec-WebSocket-Extensions"]);
    }

    /// <inheritdoc/>
    public override Task RefuseAsync() => connection.WriteAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");

    /// <inheritdoc/>
    public override async Task<string> ReadBodyAsync() => (await connection.ReadBodyAsync(_answer!)).Text;

    /// <inheritdoc/>
    public override async Task SendAsync(byte[] bytes, bool end)
    {
        await connection.WriteAsync(bytes);
        if (end)
        {
            await connection.ShutdownSendAsync();
        }
    }

    /// <inheritdoc/>
    public override Task<byte[]> ReadAsync(int count) => connection.ReadExactlyAsync(count);

    /// <inheritdoc/>
    public override Task<byte[]> ReadToEndAsync() => connection.ReadToEndAsync();

    /// <inheritdoc/>
    public override Task BreakAsync(uint code)
    {
        connection.Reset();
        return Task.CompletedTask;
    }

    /// <inheritdoc/>
    public override async Task<string> ReadBreakAsync()
    {
        await connection.WaitForEndAsync();
        return "closed";
    }

    private static string Lines(string? protocol, string? extensions) =>
        string.Concat(Fields(protocol, extensions).Select(static field => $"{field.Name}: {field.Value}\r\n"));
}
