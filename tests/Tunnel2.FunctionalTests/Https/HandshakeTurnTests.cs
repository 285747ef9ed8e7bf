using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Https;

/// <summary>One address begins many handshakes, and another address one.</summary>
public sealed class HandshakeTurnTests
{
    private const int Flood = 40;

    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(30);

    [Fact]
    public async Task A_visitor_waits_for_no_more_than_one_handshake_of_an_address_that_began_many()
    {
        if (!OperatingSystem.IsLinux())
        {
            Assert.Skip("Only Linux has all of 127.0.0.0/8 without setting it up.");
        }

        using var folder = new TemporaryFolder();
        await using var entry = await EntryFixture.StartAsync(
            null, "Public:HttpsListen=127.0.0.1:0", "Public:Certificate=self-made", "StateFolder=" + folder["state"]);
        var turns = entry.Part<HandshakeTurns>();
        using var firstGate = new ManualResetEventSlim();
        using var secondGate = new ManualResetEventSlim();
        var flood = new List<SslStream>();
        var floods = new List<Task>();
        try
        {
            // All turns are taken until the flood and the visitor wait.
            var holders = await HoldAllAsync(turns, firstGate);
            for (var i = 0; i < Flood; i++)
            {
                flood.Add(await ConnectAsync(entry.Https, "127.0.0.2"));
            }

            floods.AddRange(flood.ConvertAll(HandshakeAsync));
            await WaitSignal.UntilAsync(() => turns.Waiting == Flood, "the flood waits for turns");
            await using var visitor = await ConnectAsync(entry.Https, "127.0.0.1");
            var handshake = HandshakeAsync(visitor);
            await WaitSignal.UntilAsync(() => turns.Waiting == Flood + 1, "the visitor waits for its turn");

            // Others take all turns again after one round: so of the flood one handshake is computed, as of the visitor.
            var held = new AsyncCounter("turns that others took");
            var others = Enumerable.Range(1, Environment.ProcessorCount)
                .Select(i => HoldAsync(turns, $"127.0.1.{i}", secondGate, held))
                .ToArray();
            firstGate.Set();
            await handshake.WaitAsync(_limit);
            await held.WaitForAsync(others.Length);
            Assert.Equal(Flood - 1, turns.Waiting);
            secondGate.Set();
            await Task.WhenAll([.. floods, .. holders, .. others]).WaitAsync(_limit);
            Assert.Equal(0, turns.Waiting);
        }
        finally
        {
            firstGate.Set();
            secondGate.Set();
            flood.ForEach(static tls => tls.Dispose());

            // A failure of this test is not to be found again as a task that no code asked.
            await Task.WhenAll(floods).ConfigureAwait(
                ConfigureAwaitOptions.SuppressThrowing | ConfigureAwaitOptions.ContinueOnCapturedContext);
        }
    }

    private static async Task<Task[]> HoldAllAsync(HandshakeTurns turns, ManualResetEventSlim gate)
    {
        var holders = new Task[Environment.ProcessorCount];
        for (var i = 0; i < holders.Length; i++)
        {
            holders[i] = HoldAsync(turns, "127.0.2.1", gate);
        }

        await WaitSignal.UntilAsync(() => turns.Waiting == 0, "all turns are taken");
        return holders;
    }

    private static async Task HoldAsync(HandshakeTurns turns, string address, ManualResetEventSlim gate, AsyncCounter? held = null)
    {
        await turns.Next(IPAddress.Parse(address));
        held?.Increment();
        gate.Wait();
    }

    [SuppressMessage("Security", "CA5359", Justification = "The certificate is made for this server.")]
    private static Task HandshakeAsync(SslStream tls) => tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
    {
        TargetHost = "web.localhost",
        RemoteCertificateValidationCallback = static (_, _, _, _) => true,
    });

    private static async Task<SslStream> ConnectAsync(IPEndPoint https, string from)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Bind(new IPEndPoint(IPAddress.Parse(from), 0));
        await socket.ConnectAsync(https);
        return new SslStream(new NetworkStream(socket, ownsSocket: true));
    }
}
