using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Tcp;

/// <summary>Tunnels of TCP for tests: each has ports of its own, because tests and whole test runs are side by side.</summary>
internal static class TcpTunnel
{
    private const int FirstGuard = 21_000;
    private const int Guards = 1_200;
    private const int Most = 8;

    /// <summary>Each listens on the port before a range, for as long as this process runs: so no other process takes the range.</summary>
    private static readonly ConcurrentBag<Socket> _guards = [];

    /// <summary>A setting with a range of ports that no other test uses, below those that the system gives.</summary>
    public static string Ports(int count = Most)
    {
        while (true)
        {
            var first = FirstGuard + (Random.Shared.Next(Guards) * (Most + 1)) + 1;
            var guard = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            try
            {
                guard.Bind(new IPEndPoint(IPAddress.Loopback, first - 1));
                guard.Listen();
                _guards.Add(guard);
                if (Enumerable.Range(first, count).All(FreePort.IsFree))
                {
                    return $"Tcp:Ports={first}-{first + count - 1}";
                }
            }
            catch (SocketException)
            {
                // Another test has the range.
                guard.Dispose();
            }
        }
    }

    public static TunnelSetup Setup(params string[] settings) => new() { Settings = [Ports(), .. settings], Agent = UseTcp };

    public static AgentOptions UseTcp(AgentOptions options) =>
        options with { Kind = SessionKind.Tcp, Upstream = options.Upstream with { IsRaw = true } };

    /// <summary>The public port of a tunnel.</summary>
    public static IPEndPoint EndPointOf(AgentFixture agent)
    {
        var url = new Uri(Assert.Single(agent.Events.PublicUrls));
        Assert.Equal(("tcp", "localhost"), (url.Scheme, url.Host));
        return new IPEndPoint(IPAddress.Loopback, url.Port);
    }

    /// <summary>Lets a server's time pass until something holds, not so fast that the other end of an uplink looks silent.</summary>
    public static Task AdvanceUntilAsync(ManualTimeProvider time, Func<bool> condition, string description) => WaitSignal.UntilAsync(
        () =>
        {
            time.Advance(TimeSpan.FromMilliseconds(20));
            return condition();
        },
        description);

    /// <summary>Connects a visitor.</summary>
    public static Task<RawHttpClient> VisitAsync(TunnelFixture tunnel, int receiveBufferSize = 0) =>
        RawHttpClient.ConnectAsync(EndPointOf(tunnel.Agent), receiveBufferSize);
}
