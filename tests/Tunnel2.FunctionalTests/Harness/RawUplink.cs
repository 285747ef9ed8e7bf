using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>A frame that was received.</summary>
internal sealed record ReceivedFrame(FrameHeader Header, byte[] Payload)
{
    public FrameType Type => Header.Type;

    public StreamId Stream => Header.Stream;

    public (GoAwayPhase Phase, SessionEndReason Reason, string Text) GoAway
    {
        get
        {
            Assert.Equal(FrameType.GoAway, Type);
            Assert.Equal(ProtocolError.None, ControlFrames.TryReadGoAway(Payload, out var phase, out var reason, out var text));
            return (phase, reason, text);
        }
    }

    public (StreamResetReason Reason, StreamResetDetail Detail) Rst
    {
        get
        {
            Assert.Equal(FrameType.Rst, Type);
            return (ControlFrames.ReadRst(Payload, out var detail), detail);
        }
    }

    public WelcomeMessage Welcome
    {
        get
        {
            Assert.Equal(FrameType.Welcome, Type);
            Assert.Equal(ProtocolError.None, WelcomeMessage.TryRead(Payload, out var welcome));
            return welcome!;
        }
    }

    public RejectMessage Reject
    {
        get
        {
            Assert.Equal(FrameType.Reject, Type);
            Assert.Equal(ProtocolError.None, RejectMessage.TryRead(Payload, out var reject));
            return reject!;
        }
    }

    /// <summary>A request block as text: its first line, its fields a line each, then the first body bytes.</summary>
    public string RequestText
    {
        get
        {
            var text = new StringBuilder();
            Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(Payload, out var bytes, out var body));
            Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out var block));
            text.Append($"{Encoding.Latin1.GetString(block.Method)} {Encoding.Latin1.GetString(block.Target)}\n");
            foreach (var line in block.Fields)
            {
                text.Append($"{Encoding.Latin1.GetString(line.Name)}: {Encoding.Latin1.GetString(line.Value)}\n");
            }

            return text.Append('\n').Append(Encoding.Latin1.GetString(body)).ToString();
        }
    }

    /// <summary>A response block's status.</summary>
    public int ResponseStatus
    {
        get
        {
            Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(Payload, out var bytes, out _));
            Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out var block));
            return block.Status;
        }
    }
}

/// <summary>One end of an uplink that says what the test wants, frame by frame or byte by byte.</summary>
internal sealed class RawUplink : IAsyncDisposable
{
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(15);

    public RawUplink(RawConnection connection) => Connection = connection;

    public RawConnection Connection { get; }

    /// <summary>Connects to an entry's uplink listener and says nothing.</summary>
    public static async Task<RawUplink> ConnectAsync(IPEndPoint entry)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(entry);
        return new RawUplink(new RawConnection(socket));
    }

    /// <summary>Connects as an agent and shakes hands.</summary>
    public static async Task<RawUplink> ConnectAsAgentAsync(
        IPEndPoint entry, string name = "web", ReadOnlyMemory<byte> instanceKey = default)
    {
        var uplink = await ConnectAsync(entry);
        await uplink.SendAsync(Hello(name, instanceKey).ToFrame());
        var answer = await uplink.ReadAsync();
        Assert.Equal(FrameType.Welcome, answer?.Type);
        return uplink;
    }

    /// <summary>Connects as an agent whose session may have several uplinks, and gives what the entry welcomed it with.</summary>
    public static async Task<(RawUplink Uplink, WelcomeMessage Welcome)> ConnectForSeveralAsync(
        IPEndPoint entry, string name = "web", ReadOnlyMemory<byte> instanceKey = default, int window = ProtocolLimits.DefaultUplinkWindow)
    {
        var uplink = await ConnectAsync(entry);
        var hello = Hello(name, instanceKey) with
        {
            Capabilities = HandshakeCapabilities.MultipleUplinks,
            StreamWindow = window,
            UplinkWindow = window,
        };
        await uplink.SendAsync(hello.ToFrame());
        return (uplink, (await uplink.ReadAsync())!.Welcome);
    }

    /// <summary>Connects and says JOIN.</summary>
    /// <returns>The uplink, whose answer was not read yet.</returns>
    public static async Task<RawUplink> JoinAsync(IPEndPoint entry, JoinMessage join)
    {
        var uplink = await ConnectAsync(entry);
        await uplink.SendAsync(join.ToFrame());
        return uplink;
    }

    /// <summary>Adds an uplink to a session.</summary>
    public static async Task<RawUplink> JoinAsync(IPEndPoint entry, WelcomeMessage welcome, ulong counter = 1)
    {
        var uplink = await JoinAsync(entry, JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, counter));
        Assert.NotNull((await uplink.ReadAsync())!.Welcome);
        return uplink;
    }

    public static HelloMessage Hello(string name = "web", ReadOnlyMemory<byte> instanceKey = default) => new()
    {
        AgentName = "raw",
        AgentVersion = "0",
        InstanceKey = instanceKey.IsEmpty ? RandomNumberGenerator.GetBytes(16) : instanceKey,
        WantedName = name,
        OwnerKey = EntryTokens.OwnerKey,
    };

    public static WelcomeMessage Welcome() => new()
    {
        SessionId = new byte[WelcomeMessage.SessionIdLength],
        JoinSecret = new byte[WelcomeMessage.JoinSecretLength],
        Name = "web",
        PublicUrls = ["http://web.localhost"],
    };

    /// <summary>Plays an entry for one agent after the other.</summary>
    public static RawTcpServer StartEntry(Func<RawUplink, Task> script) => RawTcpServer.Start(async connection =>
    {
        var uplink = new RawUplink(connection);
        if (await uplink.ReadAsync() is { Type: FrameType.Hello })
        {
            await uplink.SendAsync(Welcome().ToFrame());
            await script(uplink);
        }
    });

    public Task SendAsync(params byte[][] frames) => Connection.WriteAsync(frames.SelectMany(static frame => frame).ToArray());

    /// <summary>
    /// Reads a frame; null when the peer has ended the connection. PINGs by which it measures the path are passed over, unanswered.
    /// </summary>
    public async Task<ReceivedFrame?> ReadAsync()
    {
        using var limit = new CancellationTokenSource(_patience);
        while (true)
        {
            byte[] head;
            try
            {
                head = await Connection.ReadExactlyAsync(FrameHeader.Size, limit.Token);
            }
            catch (RawConnectionEndedException exception) when (exception.Received.Length == 0)
            {
                return null;
            }

            Assert.Equal(ProtocolError.None, FrameHeader.TryRead(head, out var header));
            var payload = await Connection.ReadExactlyAsync(header.Length, limit.Token);
            if (header.Type != FrameType.Ping || header.Flags.HasFlag(FrameFlags.Ack))
            {
                return new ReceivedFrame(header, payload);
            }
        }
    }

    /// <summary>Reads until a frame of a type has come; others are passed over.</summary>
    public async Task<ReceivedFrame> ReadUntilAsync(FrameType type)
    {
        while (await ReadAsync() is { } frame)
        {
            if (frame.Type == type)
            {
                return frame;
            }
        }

        throw new InvalidOperationException($"The connection ended before a {type}.");
    }

    /// <summary>Reads until the peer says that it leaves, or ends the connection.</summary>
    public async Task WaitForGoodbyeAsync()
    {
        try
        {
            while (await ReadAsync() is not null and not { Type: FrameType.GoAway })
            {
                // What was still on its way.
            }
        }
        catch (Exception exception) when (exception is IOException or RawConnectionEndedException or SocketException)
        {
            // It was cut.
        }
    }

    /// <summary>Reads all that the peer still says until it ends the connection.</summary>
    public async Task<List<ReceivedFrame>> ReadToEndAsync()
    {
        var frames = new List<ReceivedFrame>();
        while (await ReadAsync() is { } frame)
        {
            frames.Add(frame);
        }

        return frames;
    }

    /// <summary>Asks for a sign of life: all that was sent before has been handled when this returns.</summary>
    public async Task<List<ReceivedFrame>> SyncAsync(ulong opaque = 0xC0FFEE)
    {
        await SendAsync(UplinkFrames.Ping(opaque));
        var before = new List<ReceivedFrame>();
        while (await ReadAsync() is { } frame)
        {
            if (frame.Type != FrameType.Ping)
            {
                before.Add(frame);
            }
            else if (ControlFrames.ReadPing(frame.Payload) == opaque)
            {
                return before;
            }

            // A PING of the peer's own comes whenever it has heard nothing for a while, which is the machine's affair.
        }

        throw new InvalidOperationException("The connection ended before the answer to a ping.");
    }

    public ValueTask DisposeAsync() => Connection.DisposeAsync();
}
