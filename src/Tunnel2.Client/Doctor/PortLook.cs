using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Ways;

namespace Tunnel2.Client.Doctor;

/// <summary>
/// Looks whether the server's port takes a connection at each of its addresses. The agent takes the first that does, so one that does not
/// shows in nothing but time.
/// </summary>
internal static class PortLook
{
    private const string Name = "port";

    /// <summary>Connects to all addresses at once.</summary>
    /// <param name="server">The server.</param>
    /// <param name="addresses">What its name resolves to; at least one.</param>
    /// <param name="notReached">Judges the clearest error where no address takes a connection.</param>
    /// <param name="limit">Gives up those that have not answered.</param>
    public static async Task<IReadOnlyList<Finding>> RunAsync(
        ServerEndpoint server, IEnumerable<IPAddress> addresses, Func<Exception, Finding> notReached, CancellationToken limit)
    {
        Attempt[] attempts = await Task.WhenAll(
            addresses.Distinct().Take(AddressRace.MostAddresses).Select(address => TryAsync(address, server.Port, limit)));
        try
        {
            if (Array.Find(attempts, static one => one.Socket is not null) is not { Socket: { } socket } reached)
            {
                Attempt clearest = Array.Find(attempts, static one => one.Error is not SocketException error || !AddressRace.IsVague(error))
                    ?? attempts[0];
                return [notReached(clearest.Error!)];
            }

            string silent = string.Join(
                ", ", attempts.Where(static one => one.Error is { } error && !IsOfThisMachine(error)).Select(static one => one.ToString()));
            Finding port = silent.Length == 0
                ? Finding.Ok(Name, $"{server} takes connections")
                : Finding.Warning(
                    Name, $"{server} takes connections at {reached.Address}, and not at {silent}",
                    "the agent uses the other address, visitors may wait: correct this one in the DNS, or open the port there");
            return [port, PacketLook.Run(socket)];
        }
        finally
        {
            foreach (Attempt one in attempts)
            {
                one.Socket?.Dispose();
            }
        }
    }

    /// <summary>Whether this machine has no address of that family, which is ordinary for IPv6.</summary>
    private static bool IsOfThisMachine(Exception error) => error is SocketException
    {
        SocketErrorCode: SocketError.NetworkUnreachable or SocketError.AddressNotAvailable or SocketError.AddressFamilyNotSupported,
    };

    private static async Task<Attempt> TryAsync(IPAddress address, int port, CancellationToken limit)
    {
        Socket? socket = null;
        try
        {
            socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(address, port, limit);
            return new Attempt(address, socket, null);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            socket?.Dispose();
            return new Attempt(address, null, exception);
        }
    }

    private sealed record Attempt(IPAddress Address, Socket? Socket, Exception? Error)
    {
        public override string ToString() => $"{Address} ({(Error is SocketException error ? error.Message : "no answer in time")})";
    }
}
