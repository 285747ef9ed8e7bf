using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.FunctionalTests.Loops;

/// <summary>Visitors that come to the event loop that a test wants, and what ProxyEntry counts of their moves.</summary>
internal static partial class LoopVisitors
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    /// <summary>Several loops are asked for where the engine has any.</summary>
    public const string Three = "Loops=3";

    /// <summary>Opens a connection that a certain loop accepts: the others are busy in that time.</summary>
    public static async Task<TVisitor> OnAsync<TVisitor>(EntryFixture entry, EpollLoop loop, Func<Task<TVisitor>> connect)
    {
        var before = loop.HandleCount;
        var others = entry.Loops.Where(other => other != loop).ToArray();
        var held = await Task.WhenAll(others.Select(HeldLoop.HoldAsync));
        Task<TVisitor> visitor;
        try
        {
            visitor = connect();
            await WaitSignal.UntilAsync(() => loop.HandleCount > before, "the loop has accepted the connection", _limit);
        }
        finally
        {
            foreach (var other in held)
            {
                await other.DisposeAsync();
            }
        }

        return await visitor.WaitAsync(_limit);
    }

    /// <summary>The loop of a name's uplink.</summary>
    public static EpollLoop LoopOf(EntryFixture entry, string name)
    {
        var session = entry.Directory.Snapshot().Single(session => session.Name == name);
        return (EpollLoop)Assert.Single(session.Tunnel.Uplinks).Settings.WriterScheduler;
    }

    /// <summary>How often visitors' connections have moved, and how many streams have crossed.</summary>
    public static (long Moved, long Crossed) Counts(EntryFixture entry)
    {
        var metrics = Metrics(entry);
        return (Value(Moved().Match(metrics)), Value(Crossed().Match(metrics)));
    }

    /// <summary>What <c>/metrics</c> shows.</summary>
    public static string Metrics(EntryFixture entry) => Encoding.UTF8.GetString(entry.Metrics.Collect());

    /// <summary>A request with a path that its answer names.</summary>
    public static async Task ExchangeAsync(RawHttpClient visitor, string path, string host = TunnelFixture.Host)
    {
        var (head, body) = await visitor.ExchangeAsync(path, host);
        Assert.Equal((200, $"{host} {path} "), (head.StatusCode, body.Text()));
    }

    /// <summary>A backend whose answers say what they are for: host, target and body of the request. /wait is never answered.</summary>
    public static async Task ServeAsync(RawConnection connection)
    {
        while (true)
        {
            var head = await connection.ReadHeadAsync();
            if (head.Target == "/wait")
            {
                await connection.WaitForEndAsync();
                return;
            }

            var body = await connection.ReadBodyAsync(head, head.Method);
            var answer = $"{head["Host"]} {head.Target} {body.Text()}";
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {answer.Length}\r\n\r\n{answer}");
        }
    }

    private static long Value(Match match) => match.Success ? long.Parse(match.Groups[1].Value, CultureInfo.InvariantCulture) : 0;

    [GeneratedRegex(@"^tunnel2_entry_loop_connections_moved_total(?:\{[^}]*\})? (\d+)$", RegexOptions.Multiline)]
    private static partial Regex Moved();

    [GeneratedRegex(@"^tunnel2_entry_loop_streams_crossed_total(?:\{[^}]*\})? (\d+)$", RegexOptions.Multiline)]
    private static partial Regex Crossed();
}
