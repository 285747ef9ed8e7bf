using System.Net.Sockets;
using System.Security.Cryptography;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.IdleConnections;

/// <summary>An agent that registers a name, answers PINGs, and serves nothing. A refusal is tried again, as an agent does.</summary>
internal sealed class IdleSession(IdleOptions options, int number) : IIdleConnection
{
    private const int MostTries = 120;
    private static readonly TimeSpan _pause = TimeSpan.FromSeconds(1);

    private Socket _socket = CreateSocket();
    private Task _answering = Task.CompletedTask;

    public async Task OpenAsync(CancellationToken cancellationToken)
    {
        for (var tries = 1; !await TryOpenAsync(isLast: tries == MostTries, cancellationToken).ConfigureAwait(false); tries++)
        {
            _socket.Dispose();
            _socket = CreateSocket();
            await Task.Delay(_pause * (0.5 + Random.Shared.NextDouble()), cancellationToken).ConfigureAwait(false);
        }

        _answering = AnswerAsync(cancellationToken);
    }

    public async Task CheckAsync(CancellationToken cancellationToken)
    {
        if (_answering.IsCompleted)
        {
            await _answering.ConfigureAwait(false);
            throw new IOException("The session has ended.");
        }
    }

    public void Dispose() => _socket.Dispose();

    private static Socket CreateSocket() => new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };

    private async Task<bool> TryOpenAsync(bool isLast, CancellationToken cancellationToken)
    {
        await _socket.ConnectAsync(options.To, cancellationToken).ConfigureAwait(false);
        var hello = new HelloMessage
        {
            AgentName = "idle",
            AgentVersion = "0",
            InstanceKey = RandomNumberGenerator.GetBytes(16),
            WantedName = $"idle-{number}",
        };
        await _socket.SendAsync(hello.ToFrame(), cancellationToken).ConfigureAwait(false);
        var header = await ReadAsync(cancellationToken).ConfigureAwait(false);
        return header.Header.Type == FrameType.Welcome
            || (header.Header.Type == FrameType.Reject && !isLast
                ? false
                : throw new IOException($"HELLO was answered with {header.Header.Type}."));
    }

    private async Task AnswerAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            var (header, payload) = await ReadAsync(cancellationToken).ConfigureAwait(false);
            if (header.Type == FrameType.Ping && (header.Flags & FrameFlags.Ack) == 0)
            {
                var answer = new byte[ControlFrames.PingSize];
                ControlFrames.WritePing(answer, ControlFrames.ReadPing(payload), ack: true);
                await _socket.SendAsync(answer, cancellationToken).ConfigureAwait(false);
            }
        }
    }

    private async Task<(FrameHeader Header, byte[] Payload)> ReadAsync(CancellationToken cancellationToken)
    {
        var bytes = new byte[FrameHeader.Size];
        await FillAsync(bytes, cancellationToken).ConfigureAwait(false);
        if (FrameHeader.TryRead(bytes, out var header) != ProtocolError.None)
        {
            throw new IOException("Not a frame.");
        }

        var payload = new byte[header.Length];
        await FillAsync(payload, cancellationToken).ConfigureAwait(false);
        return (header, payload);
    }

    private async Task FillAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        while (!buffer.IsEmpty)
        {
            var count = await _socket.ReceiveAsync(buffer, cancellationToken).ConfigureAwait(false);
            buffer = count > 0 ? buffer[count..] : throw new IOException("The connection has ended.");
        }
    }
}
