using System.Net.Sockets;
using System.Text;

namespace Tunnel2.Transport.Supervision;

/// <summary>
/// Sends messages to the service manager that has started the process, by systemd's protocol: a datagram to the socket that
/// <c>NOTIFY_SOCKET</c> names. A message that the manager does not take is lost, and no call waits. Immutable.
/// </summary>
internal sealed class ServiceNotifier
{
    /// <summary>The variable that names the socket.</summary>
    public const string Variable = "NOTIFY_SOCKET";

    /// <summary>Bytes of a socket's address, at most.</summary>
    private const int LongestAddress = 107;

    private readonly UnixDomainSocketEndPoint _address;

    private ServiceNotifier(UnixDomainSocketEndPoint address)
    {
        _address = address;
    }

    /// <summary>The manager at an address: a path, or with <c>@</c> in front a name that is no file. Null: it is no address.</summary>
    public static ServiceNotifier? At(string? address)
    {
        if (!OperatingSystem.IsLinux()
            || address is not ['/' or '@', _, ..]
            || Encoding.UTF8.GetByteCount(address) > LongestAddress)
        {
            return null;
        }

        return new ServiceNotifier(new UnixDomainSocketEndPoint(address[0] == '@' ? "\0" + address[1..] : address));
    }

    /// <summary>Sends assignments, a line each, such as <c>READY=1</c>.</summary>
    /// <returns>Whether the manager has taken them.</returns>
    public bool Send(string assignments)
    {
        try
        {
            // Connected each time: a manager that was replaced has another socket at the same address.
            using var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified) { Blocking = false };
            socket.Connect(_address);
            socket.Send(Encoding.UTF8.GetBytes(assignments));
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
