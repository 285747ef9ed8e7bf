using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Domains;

/// <summary>
/// Asks name servers for TXT records, which the runtime has no call for. An answer counts only from the server that was asked, to the port
/// that asked and with the number of the question. Thread-safe.
/// </summary>
internal sealed class TxtResolver
{
    private const int UsualPort = 53;
    private const int MostServers = 3;
    private const int Rounds = 2;
    private const int LongestDatagram = 4096;
    private const string SystemFile = "/etc/resolv.conf";

    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(2);

    private readonly ProxyEntrySettings _settings;
    private readonly TimeProvider _time;

    public TxtResolver(ProxyEntrySettings settings, TimeProvider time)
    {
        _settings = settings;
        _time = time;
    }

    /// <summary>The TXT records of a name; empty: it has none.</summary>
    /// <param name="name">A name of ASCII.</param>
    /// <param name="stop">Gives up.</param>
    /// <returns>Null where no name server has answered.</returns>
    public async Task<IReadOnlyList<string>?> FindAsync(string name, CancellationToken stop)
    {
        var servers = Servers();
        for (var round = 0; round < Rounds; round++)
        {
            foreach (var server in servers)
            {
                using var limit = new CancellationTokenSource(_patience, _time);
                using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
                try
                {
                    if (await AskAsync(server, name, either.Token).ConfigureAwait(false) is { } texts)
                    {
                        return texts;
                    }
                }
                catch (Exception exception) when (exception is SocketException or IOException or OperationCanceledException)
                {
                    stop.ThrowIfCancellationRequested();
                }
            }
        }

        return null;
    }

    private static async Task<IReadOnlyList<string>?> AskAsync(IPEndPoint server, string name, CancellationToken stop)
    {
        var question = TxtMessage.Ask((ushort)RandomNumberGenerator.GetInt32(ushort.MaxValue + 1), name);
        using var socket = new Socket(server.AddressFamily, SocketType.Dgram, ProtocolType.Udp);

        // Connected: datagrams of other senders do not come.
        await socket.ConnectAsync(server, stop).ConfigureAwait(false);
        await socket.SendAsync(question, stop).ConfigureAwait(false);
        var buffer = new byte[LongestDatagram];
        while (true)
        {
            var length = await socket.ReceiveAsync(buffer, stop).ConfigureAwait(false);
            switch (TxtMessage.Read(question, buffer.AsSpan(0, length), out var texts))
            {
                case TxtAnswer.Records:
                    return texts;
                case TxtAnswer.Cut:
                    return await AskByTcpAsync(server, question, stop).ConfigureAwait(false);
                case TxtAnswer.Failed:
                    return null;
                default:
                    // A stranger guesses, or an answer to an earlier question is late.
                    break;
            }
        }
    }

    private static async Task<IReadOnlyList<string>?> AskByTcpAsync(IPEndPoint server, byte[] question, CancellationToken stop)
    {
        using var socket = new Socket(server.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(server, stop).ConfigureAwait(false);
        var stream = new NetworkStream(socket);
        await using (stream.ConfigureAwait(false))
        {
            var framed = new byte[question.Length + 2];
            BinaryPrimitives.WriteUInt16BigEndian(framed, (ushort)question.Length);
            question.CopyTo(framed, 2);
            await stream.WriteAsync(framed, stop).ConfigureAwait(false);
            var prefix = new byte[2];
            await stream.ReadExactlyAsync(prefix, stop).ConfigureAwait(false);
            var answer = new byte[BinaryPrimitives.ReadUInt16BigEndian(prefix)];
            await stream.ReadExactlyAsync(answer, stop).ConfigureAwait(false);
            return TxtMessage.Read(question, answer, out var texts) == TxtAnswer.Records ? texts : null;
        }
    }

    /// <summary>Those of the settings, else the system's as they are now.</summary>
    private IReadOnlyList<IPEndPoint> Servers()
    {
        if (!_settings.Domains.Resolvers.IsEmpty)
        {
            return [.. _settings.Domains.Resolvers.Take(MostServers)];
        }

        try
        {
            return
            [
                .. File.ReadLines(SystemFile).Select(static line => line.Split([' ', '\t'], StringSplitOptions.RemoveEmptyEntries))
                    .Where(static words => words is ["nameserver", ..] && words.Length > 1 && IPAddress.TryParse(words[1], out _))
                    .Select(static words => new IPEndPoint(IPAddress.Parse(words[1]), UsualPort))
                    .Take(MostServers),
            ];
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }
}
