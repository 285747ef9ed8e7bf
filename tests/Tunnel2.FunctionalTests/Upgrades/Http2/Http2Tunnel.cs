using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Upgrades.Http2;

/// <summary>A tunnel with a visitor that speaks HTTP/2, and backends that switch to WebSocket by hand.</summary>
internal static class Http2Tunnel
{
    /// <summary>By TLS and by prior knowledge.</summary>
    public static TheoryData<string> Kinds => ["HTTP/2 over TLS", "HTTP/2 by preface"];

    public static string Scheme(string kind) => IsTls(kind) ? "https" : "http";

    /// <summary>Runs a test on a tunnel to a backend that does what the test says.</summary>
    public static Task RunAsync(
        string kind, Func<RawConnection, Task> onConnection, Func<Http2Visitor, TunnelFixture, Task> test, params string[] settings) =>
        FrontVisitor.WithCertificateAsync(setup => TunnelFixture.RunAsync(
            onConnection, tunnel => VisitAsync(kind, tunnel, test), setup with { Settings = [.. setup.Settings, .. settings] }));

    /// <summary>Runs a test on a tunnel to the test backend.</summary>
    public static Task RunAsync(string kind, Func<Http2Visitor, TunnelFixture, Task> test, params string[] settings) =>
        RunAsync(kind, (TimeProvider?)null, test, settings);

    /// <summary>The same with a clock for ProxyEntry; null: the machine's.</summary>
    public static Task RunAsync(
        string kind, TimeProvider? time, Func<Http2Visitor, TunnelFixture, Task> test, params string[] settings) =>
        FrontVisitor.WithCertificateAsync(setup => TunnelFixture.RunAsync(
            tunnel => VisitAsync(kind, tunnel, test),
            setup with { EntryTime = time, Settings = [.. setup.Settings, .. settings] }));

    /// <summary>Reads an upgrade's head and agrees to it.</summary>
    public static async Task<RawHttpHead> SwitchAsync(RawConnection connection, string fields = "")
    {
        var head = await connection.ReadHeadAsync();
        await connection.WriteAsync(
            $"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {Accept(head)}\r\n"
                + $"{fields}\r\n");
        return head;
    }

    [SuppressMessage("Security", "CA5350", Justification = "RFC 6455 says SHA-1.")]
    public static string Accept(RawHttpHead head) =>
        Convert.ToBase64String(SHA1.HashData(Encoding.ASCII.GetBytes(head["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));

    public static bool IsTls(string kind) => kind.EndsWith("TLS", StringComparison.Ordinal);

    private static async Task VisitAsync(string kind, TunnelFixture tunnel, Func<Http2Visitor, TunnelFixture, Task> test)
    {
        await using var visitor = await Http2Visitor.ConnectAsync(IsTls(kind) ? tunnel.Entry.Https : tunnel.Entry.Http, IsTls(kind));
        await test(visitor, tunnel);
    }
}
