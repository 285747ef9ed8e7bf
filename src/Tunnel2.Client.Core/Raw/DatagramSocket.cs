using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Client.Core.Raw;

/// <summary>
/// The socket of one association to the service of datagrams, at the first of its addresses where one listens. One caller at a time sends.
/// </summary>
internal sealed class DatagramSocket : IDisposable
{
    private readonly DatagramTarget _target;
    private readonly IReadOnlyList<IPAddress> _addresses;
    private int _next;
    private IPAddress _address;
    private bool _hasAnswered;

    /// <summary>Makes the socket for the first address that this machine has a way to.</summary>
    /// <param name="target">Where the service is.</param>
    /// <param name="addresses">Its addresses, in the order in which they are tried.</param>
    /// <exception cref="SocketException">There is none.</exception>
    public DatagramSocket(DatagramTarget target, IReadOnlyList<IPAddress> addresses)
    {
        (_target, _addresses) = (target, addresses);
        (Socket, _address) = ConnectNext();
    }

    /// <summary>The socket. It is another one after <see cref="SendFirst"/>.</summary>
    public Socket Socket { get; private set; }

    /// <summary>Whether there are addresses that were not tried.</summary>
    public bool HasOthers => _next < _addresses.Count;

    /// <summary>
    /// Sends the first datagram. Where nothing listens on this machine, the system says so at once: then the next address gets it.
    /// No reader may receive yet, because the first that asks gets the system's answer.
    /// </summary>
    public void SendFirst(ReadOnlySpan<byte> datagram)
    {
        Send(datagram);
        while (HasOthers && IsRefused())
        {
            var refused = Socket;
            try
            {
                (Socket, _address) = ConnectNext();
            }
            catch (SocketException)
            {
                // No way to the others: the first failure is the one to report, and the next send brings it again.
                Send(datagram);
                return;
            }

            refused.Dispose();
            Send(datagram);
        }
    }

    /// <summary>Sends a datagram; one that the system does not take is dropped.</summary>
    public void Send(ReadOnlySpan<byte> datagram)
    {
        try
        {
            Socket.Send(datagram, SocketFlags.None);
        }
        catch (SocketException)
        {
            // No room, or an answer of the service's system to an earlier one, which the receive reports.
        }
    }

    /// <summary>The service has answered.</summary>
    public void Answered()
    {
        if (!_hasAnswered)
        {
            _hasAnswered = true;
            _target.Answered(_address);
        }
    }

    /// <summary>The service's system has answered that nothing listens there.</summary>
    public void Failed() => _target.Failed(_address);

    /// <inheritdoc/>
    public void Dispose() => Socket.Dispose();

    private bool IsRefused()
    {
        Span<byte> any = stackalloc byte[1];
        Socket.Receive(any, SocketFlags.Peek, out var error);
        return error is SocketError.ConnectionRefused or SocketError.ConnectionReset;
    }

    private (Socket Socket, IPAddress Address) ConnectNext()
    {
        var last = new SocketException((int)SocketError.HostNotFound);
        while (HasOthers)
        {
            var address = _addresses[_next++];
            var socket = new Socket(address.AddressFamily, SocketType.Dgram, ProtocolType.Udp);
            try
            {
                // Says only where datagrams go. A send never waits: what the socket does not take is dropped.
                socket.Connect(new IPEndPoint(address, _target.Port));
                socket.Blocking = false;
                return (socket, address);
            }
            catch (SocketException exception)
            {
                last = exception;
                socket.Dispose();
            }
            catch
            {
                socket.Dispose();
                throw;
            }
        }

        throw last;
    }
}
