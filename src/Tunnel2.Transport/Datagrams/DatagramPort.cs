using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Tunnel2.Transport.Native;
using ControlHeader = Tunnel2.Transport.Native.SocketMessage.ControlHeader;

namespace Tunnel2.Transport.Datagrams;

/// <summary>
/// The socket of a public port of UDP. Where it listens on all addresses of a machine with several, an answer has to come from the one that
/// its visitor called: the system would take that of the route back, and visitors and their firewalls drop an answer from another address.
/// .NET can say to which address a datagram came, but not from which one is sent: so these are system calls, on Linux. Elsewhere the system
/// chooses. One caller at a time receives; any number send.
/// </summary>
internal sealed class DatagramPort : IDisposable
{
    /// <summary>Bytes of the kernel's queues: a burst of large datagrams.</summary>
    private const int KernelQueue = 1024 * 1024;

    private const int Info4 = 12;
    private const int Info6 = 20;

    private readonly Socket _socket;
    private readonly bool _isIPv6;
    private readonly bool _asksForAddresses;

    /// <summary>Binds the port.</summary>
    /// <param name="endPoint">The address; that for all of IPv6 takes IPv4 too.</param>
    /// <exception cref="SocketException">The address is not available.</exception>
    [SuppressMessage("Reliability", "CA2000", Justification = "Disposed of with the port, or when it cannot be bound.")]
    public DatagramPort(IPEndPoint endPoint)
    {
        _isIPv6 = endPoint.AddressFamily == AddressFamily.InterNetworkV6;
        _asksForAddresses = OperatingSystem.IsLinux() && endPoint.Address.Equals(_isIPv6 ? IPAddress.IPv6Any : IPAddress.Any);
        _socket = new Socket(endPoint.AddressFamily, SocketType.Dgram, ProtocolType.Udp);
        try
        {
            if (endPoint.Address.Equals(IPAddress.IPv6Any))
            {
                _socket.DualMode = true;
            }

            if (_asksForAddresses)
            {
                _socket.SetSocketOption(
                    _isIPv6 ? SocketOptionLevel.IPv6 : SocketOptionLevel.IP, SocketOptionName.PacketInformation, true);
            }

            _socket.ReceiveBufferSize = _socket.SendBufferSize = KernelQueue;
            _socket.Bind(endPoint);
            _socket.Blocking = false;
            LocalEndPoint = (IPEndPoint)_socket.LocalEndPoint!;
        }
        catch
        {
            _socket.Dispose();
            throw;
        }
    }

    /// <summary>The address that was bound.</summary>
    public IPEndPoint LocalEndPoint { get; }

    /// <summary>Whether it was disposed of.</summary>
    public bool IsClosed => _socket.SafeHandle.IsClosed;

    /// <summary>Room for a visitor's address.</summary>
    public SocketAddress NewAddress() => new(_socket.AddressFamily);

    /// <summary>The address that a visitor called, as far as it is known.</summary>
    public IPEndPoint Called(CalledAddress called) =>
        called.ToAddress(_isIPv6) is { } address ? new IPEndPoint(address, LocalEndPoint.Port) : LocalEndPoint;

    /// <summary>Takes the next datagram.</summary>
    /// <param name="buffer">Room for it.</param>
    /// <param name="visitor">Gets the visitor's address.</param>
    /// <returns>Its length, and the address that the visitor called.</returns>
    /// <exception cref="SocketException">An answer to a datagram that was sent before, or the end.</exception>
    /// <exception cref="ObjectDisposedException">The end.</exception>
    public async ValueTask<(int Length, CalledAddress Called)> ReceiveAsync(Memory<byte> buffer, SocketAddress visitor)
    {
        if (!_asksForAddresses)
        {
            return (await _socket.ReceiveFromAsync(buffer, SocketFlags.None, visitor).ConfigureAwait(false), default);
        }

        while (true)
        {
            if (TryReceive(buffer.Span, visitor, out var length, out var called))
            {
                return (length, called);
            }

            await _socket.ReceiveAsync(Memory<byte>.Empty, SocketFlags.Peek).ConfigureAwait(false);
        }
    }

    /// <summary>Sends a datagram. Never waits: what the socket does not take is dropped.</summary>
    /// <param name="datagram">The datagram.</param>
    /// <param name="visitor">Where to.</param>
    /// <param name="called">The address that it comes from.</param>
    public void Send(ReadOnlySpan<byte> datagram, SocketAddress visitor, CalledAddress called)
    {
        try
        {
            // Where the datagram came to an address of many machines, or to one that is gone, the system chooses.
            if (called == default
                || SendFrom(datagram, visitor, called) is Errno.InvalidArgument or Errno.AddressNotAvailable or Errno.NetworkUnreachable)
            {
                _socket.SendTo(datagram, SocketFlags.None, visitor);
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // No room, a visitor that is gone, a datagram that is too long for its way: datagrams may be lost.
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _socket.Dispose();

    private unsafe bool TryReceive(Span<byte> buffer, SocketAddress visitor, out int length, out CalledAddress called)
    {
        // Room for one answer about the address, and no other was asked for.
        Span<byte> control = stackalloc byte[64];
        var name = visitor.Buffer.Span;
        fixed (byte* start = buffer, controls = control, names = name)
        {
            var part = new SocketMessage.Part { Start = start, Length = (nuint)buffer.Length };
            var message = new SocketMessage
            {
                Name = names,
                NameLength = (uint)name.Length,
                Parts = &part,
                PartCount = 1,
                Control = controls,
                ControlLength = (nuint)control.Length,
            };
            var error = Call(&message, isSend: false, out var received);
            if (error is not (0 or Errno.Again or Errno.Interrupted))
            {
                throw new SocketException((int)Errno.ToSocketError(error));
            }

            visitor.Size = (int)message.NameLength;
            length = (int)received;
            called = error == 0 ? ReadCalled(control[..(int)message.ControlLength]) : default;
            return error == 0;
        }
    }

    private unsafe int SendFrom(ReadOnlySpan<byte> datagram, SocketAddress visitor, CalledAddress called)
    {
        var size = sizeof(ControlHeader) + (_isIPv6 ? Info6 : Info4);
        Span<byte> control = stackalloc byte[ControlHeader.Aligned(size)];
        control.Clear();
        var header = _isIPv6
            ? new ControlHeader((nuint)size, Libc.SolIp6, Libc.Ip6PacketInfo)
            : new ControlHeader((nuint)size, Libc.SolIp, Libc.IpPacketInfo);
        Unsafe.WriteUnaligned(ref control[0], header);
        var info = control[sizeof(ControlHeader)..];
        if (_isIPv6)
        {
            Unsafe.WriteUnaligned(ref info[0], called.Bytes);
            Unsafe.WriteUnaligned(ref info[16], called.Interface);
        }
        else
        {
            Unsafe.WriteUnaligned(ref info[4], (uint)called.Bytes);
        }

        fixed (byte* start = datagram, controls = control, names = visitor.Buffer.Span)
        {
            var part = new SocketMessage.Part { Start = start, Length = (nuint)datagram.Length };
            var message = new SocketMessage
            {
                Name = names,
                NameLength = (uint)visitor.Size,
                Parts = &part,
                PartCount = 1,
                Control = controls,
                ControlLength = (nuint)control.Length,
            };
            return Call(&message, isSend: true, out _);
        }
    }

    /// <returns>0, or the error.</returns>
    private unsafe int Call(SocketMessage* message, bool isSend, out nint count)
    {
        var handle = _socket.SafeHandle;
        var isHeld = false;
        try
        {
            // Otherwise the number could be another file's by now.
            handle.DangerousAddRef(ref isHeld);
            var descriptor = (int)handle.DangerousGetHandle();
            count = isSend
                ? Libc.SendMessage(descriptor, message, Libc.MsgDontWait | Libc.MsgNoSignal)
                : Libc.ReceiveMessage(descriptor, message, Libc.MsgDontWait);
            return count >= 0 ? 0 : Errno.Last;
        }
        finally
        {
            if (isHeld)
            {
                handle.DangerousRelease();
            }
        }
    }

    /// <summary>Reads struct in_pktinfo or in6_pktinfo.</summary>
    private static unsafe CalledAddress ReadCalled(ReadOnlySpan<byte> control)
    {
        if (control.Length < sizeof(ControlHeader) + Info4)
        {
            return default;
        }

        var header = Unsafe.ReadUnaligned<ControlHeader>(in control[0]);
        var info = control[sizeof(ControlHeader)..];
        if (header is { Level: Libc.SolIp, Type: Libc.IpPacketInfo })
        {
            return new CalledAddress(Unsafe.ReadUnaligned<uint>(in info[4]), 0);
        }

        // Nothing is sent from an address of many machines.
        if (header is not { Level: Libc.SolIp6, Type: Libc.Ip6PacketInfo } || info.Length < Info6 || info[0] == 0xFF)
        {
            return default;
        }

        var isLinkLocal = info[0] == 0xFE && (info[1] & 0xC0) == 0x80;
        return new CalledAddress(
            Unsafe.ReadUnaligned<UInt128>(in info[0]), isLinkLocal ? Unsafe.ReadUnaligned<int>(in info[16]) : 0);
    }
}
