using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.InMemory;

/// <summary>A server that agents dial in memory: it says what the test wants, in the handshake and behind it.</summary>
internal sealed class MemoryServer(TestEngine engine)
{
    private readonly Lock _gate = new();
    private readonly Queue<InMemoryTransport> _dialled = new();

    /// <summary>Connections that agents asked for.</summary>
    public AsyncCounter Dialled { get; } = new("connections dialled");

    /// <summary>Why the next connections fail; null: they do not.</summary>
    public SocketError? Refusal { get; set; }

    /// <summary>The server's address as agents see it.</summary>
    public IPAddress Address { get; set; } = IPAddress.Loopback;

    public BufferPool Buffers { get; } = new();

    /// <summary>What it grants in its WELCOME.</summary>
    public WelcomeMessage Welcome { get; set; } = new()
    {
        SessionId = new byte[WelcomeMessage.SessionIdLength],
        JoinSecret = new byte[WelcomeMessage.JoinSecretLength],
        Epoch = 7,
        Capabilities = HandshakeCapabilities.MultipleUplinks,
        MaxUplinks = 4,
        Name = "web",
        PublicUrls = ["http://web.localhost:12000"],
    };

    /// <summary>What the next connects wait for, whether they are given up or not; null: for nothing.</summary>
    public Func<Task>? BeforeConnect { get; set; }

    /// <summary>What a dialer does in place of a connect.</summary>
    public async Task<(IUplinkTransport Transport, IPAddress? Peer)> ConnectAsync(CancellationToken giveUp)
    {
        if (BeforeConnect is { } before)
        {
            await before();
        }

        giveUp.ThrowIfCancellationRequested();
        if (Refusal is { } refusal)
        {
            Dialled.Increment();
            throw new SocketException((int)refusal);
        }

        var (agents, own) = InMemoryTransport.CreatePair(64 * 1024, engine.Scheduler);
        lock (_gate)
        {
            _dialled.Enqueue(own);
        }

        Dialled.Increment();
        return (agents, Address);
    }

    /// <summary>The next connection of an agent, on which nothing was said.</summary>
    public async Task<InMemoryTransport> AcceptAsync()
    {
        InMemoryTransport? transport = null;
        await engine.UntilAsync(
            () =>
            {
                lock (_gate)
                {
                    return _dialled.TryDequeue(out transport);
                }
            },
            "an agent connects");
        return transport!;
    }

    /// <summary>Reads the first frame that an agent says.</summary>
    public static async Task<(FrameType Type, byte[] Payload)> ReadFirstAsync(IUplinkTransport transport)
    {
        var read = await HandshakeFrameReader.ReadAsync(
            transport, static _ => true, ProtocolLimits.HandshakeTimeout, TimeProvider.System, TestContext.Current.CancellationToken);
        Assert.Equal(HandshakeReadStatus.Frame, read.Status);
        return (read.Type, read.Payload.ToArray());
    }

    /// <summary>Takes the next connection as an uplink: its handshake is granted.</summary>
    /// <param name="expected">How the agent begins.</param>
    /// <param name="isDeaf">Whether the server hears nothing more of the agent until the test lets what comes continue.</param>
    public async Task<ServedUplink> ServeAsync(FrameType expected = FrameType.Hello, bool isDeaf = false)
    {
        var transport = await AcceptAsync();
        Assert.Equal(expected, (await ReadFirstAsync(transport)).Type);
        if (isDeaf)
        {
            transport.Incoming.Stall();
        }

        await transport.SendAsync(Welcome.ToFrame());
        var uplink = new UplinkConnection(transport, new PairOptions().Make(engine, UplinkRole.Entry, Buffers));
        return new ServedUplink(uplink, transport, uplink.RunAsync());
    }

    /// <summary>Takes the next connection and says no.</summary>
    public async Task RejectAsync(RejectCode code, TimeSpan retryAfter = default, FrameType expected = FrameType.Hello)
    {
        var transport = await AcceptAsync();
        Assert.Equal(expected, (await ReadFirstAsync(transport)).Type);
        await transport.SendAsync(new RejectMessage(code, retryAfter, "why not").ToFrame());
        transport.ShutdownSend();
    }
}

/// <summary>The server's end of an uplink.</summary>
internal sealed record ServedUplink(UplinkConnection Uplink, InMemoryTransport Transport, Task<UplinkEnd> Run);
