using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.FunctionalTests.Http2Backends;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>
/// A WebSocket's beginning, its two directions and its ends, for each pair of protocols; the rows are those of docs/conformance.md.
/// </summary>
public sealed class UpgradeEndTests
{
    private const string AsSent = "as sent";

    /// <summary>SETTINGS_ENABLE_CONNECT_PROTOCOL.</summary>
    private static readonly byte[] _allowsConnect = [0, 8, 0, 0, 0, 1];

    private static readonly UpgradeCase[] _cases =
    [
        new("bytes in both directions", [AsSent, AsSent, AsSent, AsSent])
        {
            Service = static async service =>
            {
                await service.AcceptAsync();
                await service.SendAsync(await service.ReadAsync(8), end: false);
                return null;
            },
            Visitor = static async visitor =>
            {
                await visitor.OpenAsync();
                await visitor.SendAsync("question"u8.ToArray(), end: false);
                return Text(await visitor.ReadAsync(8)) == "question" ? AsSent : "changed";
            },
        },
        new("`Sec-WebSocket-Protocol` and `-Extensions` of both", [AsSent, AsSent, AsSent, AsSent])
        {
            Service = static async service =>
            {
                var (protocols, extensions) = await service.AcceptAsync("chat", "x-one; a=1");
                return (protocols, extensions) == ("chat, talk", "x-one; a=1, x-two") ? null : $"{protocols} {extensions}";
            },
            Visitor = static async visitor =>
            {
                var (_, protocol, extensions) = await visitor.OpenAsync("chat, talk", "x-one; a=1, x-two");
                return (protocol, extensions) == ("chat", "x-one; a=1") ? AsSent : $"{protocol} {extensions}";
            },
        },
        new("a refusal by 403 with a body", [AsSent, AsSent, AsSent, AsSent])
        {
            Service = static async service =>
            {
                await service.RefuseAsync();
                return null;
            },
            Visitor = static async visitor =>
                (await visitor.OpenAsync()).Status == 403 && await visitor.ReadBodyAsync() == "no" ? AsSent : "changed",
        },
        new("the service ends its direction: the other continues", [AsSent, AsSent, AsSent, AsSent])
        {
            Service = static async service =>
            {
                await service.AcceptAsync();
                await service.SendAsync("bye"u8.ToArray(), end: true);
                return Text(await service.ReadAsync(5)) == "later" ? null : "changed";
            },
            Visitor = static async visitor =>
            {
                await visitor.OpenAsync();
                var bye = Text(await visitor.ReadToEndAsync());
                await visitor.SendAsync("later"u8.ToArray(), end: true);
                return bye == "bye" ? AsSent : "changed";
            },
        },
        new("the visitor ends its direction: the other continues", [AsSent, AsSent, AsSent, AsSent])
        {
            Service = static async service =>
            {
                await service.AcceptAsync();
                var bye = Text(await service.ReadToEndAsync());
                await service.SendAsync("later"u8.ToArray(), end: true);
                return bye == "bye" ? null : "changed";
            },
            Visitor = static async visitor =>
            {
                await visitor.OpenAsync();
                await visitor.SendAsync("bye"u8.ToArray(), end: true);
                return Text(await visitor.ReadToEndAsync()) == "later" ? AsSent : "changed";
            },
        },
        new("the service breaks (HTTP/2: with ENHANCE_YOUR_CALM)", ["closed", "closed", "RST_STREAM 8", "RST_STREAM 11"])
        {
            Service = static async service =>
            {
                await service.AcceptAsync();
                await service.ReadAsync(5);
                await service.BreakAsync(11);
                return null;
            },
            Visitor = static async visitor =>
            {
                await visitor.OpenAsync();
                await visitor.SendAsync("hello"u8.ToArray(), end: false);
                return await visitor.ReadBreakAsync();
            },
        },
        new("the visitor breaks (HTTP/2: with ENHANCE_YOUR_CALM)", ["closed", "RST_STREAM 8", "closed", "RST_STREAM 11"])
        {
            Service = static async service =>
            {
                await service.AcceptAsync();
                await service.ReadAsync(5);
                await service.SendAsync("hello"u8.ToArray(), end: false);
                return await service.ReadBreakAsync();
            },
            Visitor = static async visitor =>
            {
                await visitor.OpenAsync();
                await visitor.SendAsync("hello"u8.ToArray(), end: false);
                await visitor.ReadAsync(5);
                await visitor.BreakAsync(11);
                return null;
            },
        },
    ];

    public static TheoryData<string, string> Cases =>
        [.. _cases.SelectMany(static one => Pair.All.Select(pair => (one.What, pair.ToString())))];

    /// <summary>The rows of the document.</summary>
    internal static IEnumerable<string> Rows => _cases.Select(static one => $"| {one.What} | {string.Join(" | ", one.Ends)} |");

    [Theory]
    [MemberData(nameof(Cases))]
    public Task Both_ends_see_it(string what, string name)
    {
        var pair = Pair.Of(name);
        var one = _cases.Single(one => one.What == what);
        var served = new TaskCompletionSource<string?>(TaskCreationOptions.RunContinuationsAsynchronously);
        return TunnelFixture.RunAsync(
            pair.ServiceIsHttp2
                ? Http2ServiceConnection.Serving(
                    async (service, _) => await ServeAsync(new Http2ServiceSide(service, await service.ReadRequestAsync())), _allowsConnect)
                : async connection =>
                {
                    await ServeAsync(new Http1UpgradeSide(connection, await connection.ReadHeadAsync()));
                    await connection.WaitForEndAsync();
                },
            async tunnel =>
            {
                string? seen;
                if (pair.VisitorIsHttp2)
                {
                    await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
                    seen = await one.Visitor(new Http2VisitorSide(visitor));
                    seen = await served.Task.WaitAsync(AsyncCounter.DefaultTimeout) ?? seen;
                }
                else
                {
                    await using var visitor = await tunnel.ConnectAsync();
                    seen = await one.Visitor(new Http1UpgradeSide(visitor));
                    seen = await served.Task.WaitAsync(AsyncCounter.DefaultTimeout) ?? seen;

                    // A service of HTTP/2 may still have its direction: an end in order would leave that to it.
                    if (!visitor.Socket.SafeHandle.IsClosed)
                    {
                        visitor.Reset();
                    }
                }

                Assert.Equal(one.Ends[Array.IndexOf(Pair.All, pair)], seen);
            },
            new TunnelSetup { Agent = pair.ServiceIsHttp2 ? Http2Service.Prior : static options => options });

        async Task ServeAsync(UpgradeSide side)
        {
            try
            {
                served.TrySetResult(await one.Service(side));
            }
            catch (Exception exception)
            {
                served.TrySetException(exception);
            }
        }
    }

    private static string Text(byte[] bytes) => Encoding.Latin1.GetString(bytes);

    /// <summary>What the two do, and what comes out for each pair.</summary>
    private sealed record UpgradeCase(string What, string[] Ends)
    {
        /// <summary>What the service does; it returns what it saw where that is the outcome, or null.</summary>
        public required Func<UpgradeSide, Task<string?>> Service { get; init; }

        /// <summary>The same for the visitor.</summary>
        public required Func<UpgradeSide, Task<string?>> Visitor { get; init; }
    }
}
