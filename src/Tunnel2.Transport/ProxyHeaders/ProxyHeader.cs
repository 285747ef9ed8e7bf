using System.Buffers.Binary;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.ProxyHeaders;

/// <summary>
/// The header of the PROXY protocol, versions 1 and 2, by which a balancer passes on the addresses of its client's connection. Spans only,
/// no I/O; reading never throws.
/// </summary>
internal static class ProxyHeader
{
    /// <summary>Bytes of a header that is read, at most, as in nginx. Senders may add values of their own to version 2.</summary>
    public const int MaxLength = 4096;

    /// <summary>Room for any header that is written.</summary>
    public const int MaxWritten = LongestLine;

    /// <summary>The longest line of version 1, with its CRLF.</summary>
    private const int LongestLine = 107;

    private const int BinaryHeader = 16;
    private const byte LocalCommand = 0x20;
    private const byte ProxyCommand = 0x21;
    private const byte Tcp4 = 0x11;
    private const byte Tcp6 = 0x21;

    /// <summary>AF_UNIX. Receivers have to refuse the values beyond it, and in a check by the balancer to ignore them.</summary>
    private const int HighestFamily = 3;

    /// <summary>DGRAM.</summary>
    private const int HighestTransport = 2;
    private const int Addresses4 = 12;
    private const int Addresses6 = 36;

    private static ReadOnlySpan<byte> Signature => "\r\n\r\n\0\r\nQUIT\n"u8;

    private static ReadOnlySpan<byte> LineStart => "PROXY "u8;

    /// <summary>Reads a header.</summary>
    /// <param name="received">All bytes from the connection's first on.</param>
    /// <param name="length">With <see cref="ProxyHeaderStatus.Done"/>: the header's length.</param>
    /// <param name="source">The client; null if the header does not say it: a check by the balancer itself, or another network.</param>
    /// <param name="destination">The address that the client called, or null.</param>
    public static ProxyHeaderStatus Read(
        ReadOnlySpan<byte> received, out int length, out IPEndPoint? source, out IPEndPoint? destination)
    {
        (length, source, destination) = (0, null, null);
        var start = received[..Math.Min(received.Length, Signature.Length)];
        if (start.SequenceEqual(Signature[..start.Length]))
        {
            return start.Length < Signature.Length
                ? ProxyHeaderStatus.NeedMore
                : ReadBinary(received, out length, ref source, ref destination);
        }

        start = received[..Math.Min(received.Length, LineStart.Length)];
        if (!start.SequenceEqual(LineStart[..start.Length]))
        {
            return ProxyHeaderStatus.Invalid;
        }

        var line = received[..Math.Min(received.Length, LongestLine)];
        var end = line.IndexOf("\r\n"u8);
        if (end < 0)
        {
            return line.Length < LongestLine ? ProxyHeaderStatus.NeedMore : ProxyHeaderStatus.Invalid;
        }

        length = end + 2;
        return TryReadLine(line[LineStart.Length..end], ref source, ref destination) ? ProxyHeaderStatus.Done : ProxyHeaderStatus.Invalid;
    }

    /// <summary>Writes a header.</summary>
    /// <param name="version">The version, not <see cref="ProxyHeaderVersion.None"/>.</param>
    /// <param name="source">The client, or null if it is not known.</param>
    /// <param name="destination">The address that it called, or null.</param>
    /// <param name="buffer">Room for <see cref="MaxWritten"/> bytes.</param>
    /// <returns>The header's length.</returns>
    public static int Write(ProxyHeaderVersion version, IPEndPoint? source, IPEndPoint? destination, Span<byte> buffer)
    {
        var from = PlainAddress.Of(source?.Address);
        var to = PlainAddress.Of(destination?.Address);
        var isKnown = from is not null && to is not null;
        if (isKnown && from!.AddressFamily != to!.AddressFamily)
        {
            // A header has one family for both, and IPv6 has a form for addresses of IPv4.
            (from, to) = (from.MapToIPv6(), to.MapToIPv6());
        }

        if (version == ProxyHeaderVersion.V1)
        {
            var family = from?.AddressFamily == AddressFamily.InterNetwork ? 4 : 6;
            var line = isKnown
                ? string.Create(
                    CultureInfo.InvariantCulture, $"PROXY TCP{family} {from} {to} {source!.Port} {destination!.Port}\r\n")
                : "PROXY UNKNOWN\r\n";
            return Encoding.ASCII.GetBytes(line, buffer);
        }

        Signature.CopyTo(buffer);
        buffer[12] = ProxyCommand;
        if (!isKnown)
        {
            buffer[13..BinaryHeader].Clear();
            return BinaryHeader;
        }

        var is4 = from!.AddressFamily == AddressFamily.InterNetwork;
        var size = is4 ? 4 : 16;
        buffer[13] = is4 ? Tcp4 : Tcp6;
        BinaryPrimitives.WriteUInt16BigEndian(buffer[14..], (ushort)(is4 ? Addresses4 : Addresses6));
        var addresses = buffer[BinaryHeader..];
        from.TryWriteBytes(addresses, out _);
        to!.TryWriteBytes(addresses[size..], out _);
        BinaryPrimitives.WriteUInt16BigEndian(addresses[(2 * size)..], (ushort)source!.Port);
        BinaryPrimitives.WriteUInt16BigEndian(addresses[((2 * size) + 2)..], (ushort)destination!.Port);
        return BinaryHeader + (is4 ? Addresses4 : Addresses6);
    }

    private static ProxyHeaderStatus ReadBinary(
        ReadOnlySpan<byte> received, out int length, ref IPEndPoint? source, ref IPEndPoint? destination)
    {
        length = 0;
        if (received.Length < BinaryHeader)
        {
            return received.Length > 12 && received[12] is not (LocalCommand or ProxyCommand)
                ? ProxyHeaderStatus.Invalid
                : ProxyHeaderStatus.NeedMore;
        }

        var (command, family) = (received[12], received[13]);
        length = BinaryHeader + BinaryPrimitives.ReadUInt16BigEndian(received[14..]);
        var isKnown = command == LocalCommand
            || (command == ProxyCommand && family >> 4 <= HighestFamily && (family & 0x0f) <= HighestTransport);
        if (!isKnown || length > MaxLength)
        {
            return ProxyHeaderStatus.Invalid;
        }

        if (received.Length < length)
        {
            return ProxyHeaderStatus.NeedMore;
        }

        var addresses = received[BinaryHeader..length];
        if (command == LocalCommand || family is not (Tcp4 or Tcp6))
        {
            // Another network has no address that can be passed on.
            return ProxyHeaderStatus.Done;
        }

        var size = family == Tcp4 ? 4 : 16;
        if (addresses.Length < (2 * size) + 4)
        {
            return ProxyHeaderStatus.Invalid;
        }

        source = new IPEndPoint(new IPAddress(addresses[..size]), BinaryPrimitives.ReadUInt16BigEndian(addresses[(2 * size)..]));
        destination = new IPEndPoint(
            new IPAddress(addresses[size..(2 * size)]), BinaryPrimitives.ReadUInt16BigEndian(addresses[((2 * size) + 2)..]));
        return ProxyHeaderStatus.Done;
    }

    /// <summary>Reads what follows after <c>PROXY </c> in a line.</summary>
    private static bool TryReadLine(ReadOnlySpan<byte> line, ref IPEndPoint? source, ref IPEndPoint? destination)
    {
        if (line.SequenceEqual("UNKNOWN"u8) || line.StartsWith("UNKNOWN "u8))
        {
            return true;
        }

        var words = Encoding.Latin1.GetString(line).Split(' ');
        if (words.Length != 5
            || words[0] is not ("TCP4" or "TCP6")
            || !TryReadAddress(words[1], words[0] == "TCP4", out var from)
            || !TryReadAddress(words[2], words[0] == "TCP4", out var to)
            || !TryReadPort(words[3], out var fromPort)
            || !TryReadPort(words[4], out var toPort))
        {
            return false;
        }

        source = new IPEndPoint(from, fromPort);
        destination = new IPEndPoint(to, toPort);
        return true;
    }

    private static bool TryReadAddress(string text, bool is4, out IPAddress address) =>
        AddressText.TryRead(text, out address)
        && address.AddressFamily == (is4 ? AddressFamily.InterNetwork : AddressFamily.InterNetworkV6);

    private static bool TryReadPort(string text, out ushort port)
    {
        port = 0;
        return text is not ['0', _, ..] && ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out port);
    }
}
