using System.Buffers.Binary;

namespace Tunnel2.Transport.Tls;

/// <summary>
/// Reads the server's name (SNI, RFC 6066 section 3) in the first flight of a TLS client, without taking part in the handshake. The message
/// may be cut into records in any way. With an encrypted ClientHello (ECH) the name is the outer one. Unknown extensions, GREASE
/// (RFC 8701) among them, are skipped. Spans only, no I/O; never throws.
/// </summary>
internal static class ClientHelloReader
{
    /// <summary>Bytes of a first flight that are looked at, at most.</summary>
    public const int MaxLength = 64 * 1024;

    private const int RecordHeader = 5;
    private const int MessageHeader = 4;
    private const int MaxRecord = 16 * 1024;
    private const byte HandshakeRecord = 22;
    private const byte ClientHelloMessage = 1;
    private const int RandomLength = 32;
    private const int ServerNameExtension = 0;
    private const int ProtocolsExtension = 16;
    private const byte HostNameType = 0;

    /// <summary>Reads the bytes so far.</summary>
    /// <param name="received">All bytes from the connection's first on.</param>
    /// <param name="serverName">With <see cref="ClientHelloStatus.Named"/>: the name, not checked, 1 to 65,535 bytes.</param>
    /// <param name="needed">
    /// With <see cref="ClientHelloStatus.NeedMore"/>: how many bytes there must be before another call can say more.
    /// </param>
    public static ClientHelloStatus Read(ReadOnlySpan<byte> received, out ReadOnlySpan<byte> serverName, out int needed) =>
        Read(received, out serverName, out _, out needed);

    /// <summary>Reads the bytes so far, and the protocols that the client offers (ALPN, RFC 7301).</summary>
    /// <param name="received">All bytes from the connection's first on.</param>
    /// <param name="serverName">With <see cref="ClientHelloStatus.Named"/>: the name, not checked, 1 to 65,535 bytes.</param>
    /// <param name="protocols">The list of protocols, for <see cref="Offers"/>; empty when there is none.</param>
    /// <param name="needed">
    /// With <see cref="ClientHelloStatus.NeedMore"/>: how many bytes there must be before another call can say more.
    /// </param>
    public static ClientHelloStatus Read(
        ReadOnlySpan<byte> received, out ReadOnlySpan<byte> serverName, out ReadOnlySpan<byte> protocols, out int needed)
    {
        serverName = default;
        protocols = default;
        needed = 0;
        var gathered = 0;
        var length = -1;
        Span<byte> header = stackalloc byte[MessageHeader];
        for (var position = 0; ;)
        {
            var status = ReadRecordHeader(received, position, out var payload, out needed);
            if (status == ClientHelloStatus.NeedMore && length >= 0)
            {
                return WaitFor(position + RecordHeader + length - gathered, out needed);
            }

            if (status != ClientHelloStatus.Named)
            {
                return status;
            }

            position += RecordHeader;
            var available = received.Slice(position, Math.Min(payload, received.Length - position));
            for (var i = 0; i < available.Length && gathered + i < MessageHeader; i++)
            {
                header[gathered + i] = available[i];
            }

            if (gathered + available.Length > 0 && header[0] != ClientHelloMessage)
            {
                return ClientHelloStatus.Invalid;
            }

            if (length < 0 && gathered + available.Length >= MessageHeader)
            {
                length = MessageHeader + ((header[1] << 16) | BinaryPrimitives.ReadUInt16BigEndian(header[2..]));
            }

            if (length > MaxLength || position + payload > MaxLength)
            {
                return ClientHelloStatus.TooLong;
            }

            if (length >= 0 && gathered + available.Length >= length)
            {
                return ReadBody(Message(received, position, gathered, length), out serverName, out protocols);
            }

            if (available.Length < payload)
            {
                var after = length < 0 ? 0 : Math.Max(0, length - gathered - payload);
                return WaitFor(position + payload + (after > 0 ? RecordHeader + after : 0), out needed);
            }

            gathered += payload;
            position += payload;
        }
    }

    /// <summary>Whether a list of protocols has one; a list that is not valid has none.</summary>
    public static bool Offers(ReadOnlySpan<byte> protocols, ReadOnlySpan<byte> protocol)
    {
        while (TryTake(ref protocols, 1, out var one))
        {
            if (one.SequenceEqual(protocol))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>
    /// Asks for all that is still to come at least, and not only for the next record: however small a peer makes its records and pieces, a
    /// first flight is looked at some dozens of times.
    /// </summary>
    private static ClientHelloStatus WaitFor(int total, out int needed)
    {
        needed = total;
        return total > MaxLength ? ClientHelloStatus.TooLong : ClientHelloStatus.NeedMore;
    }

    /// <summary>Checks the header of a record; <see cref="ClientHelloStatus.Named"/> means a good one.</summary>
    private static ClientHelloStatus ReadRecordHeader(ReadOnlySpan<byte> received, int position, out int payload, out int needed)
    {
        payload = 0;
        needed = position + RecordHeader;
        var header = received[position..];

        // Judged byte by byte, because other protocols are recognized by their first bytes and may wait for an answer to them.
        if ((header.Length > 0 && header[0] != HandshakeRecord) || (header.Length > 1 && header[1] != 3))
        {
            return ClientHelloStatus.Invalid;
        }

        if (header.Length < RecordHeader)
        {
            return needed > MaxLength ? ClientHelloStatus.TooLong : ClientHelloStatus.NeedMore;
        }

        payload = BinaryPrimitives.ReadUInt16BigEndian(header[3..]);
        return payload is 0 or > MaxRecord ? ClientHelloStatus.Invalid : ClientHelloStatus.Named;
    }

    /// <summary>The message without the headers of records; a copy only if it is in several records.</summary>
    private static ReadOnlySpan<byte> Message(ReadOnlySpan<byte> received, int lastPayload, int gathered, int length)
    {
        if (gathered == 0)
        {
            return received.Slice(lastPayload, length);
        }

        var message = new byte[length];
        for (int position = 0, filled = 0; filled < length;)
        {
            var payload = BinaryPrimitives.ReadUInt16BigEndian(received[(position + 3)..]);
            position += RecordHeader;
            var taken = Math.Min(payload, length - filled);
            received.Slice(position, taken).CopyTo(message.AsSpan(filled));
            filled += taken;
            position += payload;
        }

        return message;
    }

    private static ClientHelloStatus ReadBody(
        ReadOnlySpan<byte> message, out ReadOnlySpan<byte> serverName, out ReadOnlySpan<byte> protocols)
    {
        serverName = default;
        protocols = default;
        var body = message[MessageHeader..];
        if (body.Length < 2 + RandomLength)
        {
            return ClientHelloStatus.Invalid;
        }

        body = body[(2 + RandomLength)..];

        // Session id, cipher suites, compression methods.
        if (!TrySkip(ref body, lengthBytes: 1) || !TrySkip(ref body, lengthBytes: 2) || !TrySkip(ref body, lengthBytes: 1))
        {
            return ClientHelloStatus.Invalid;
        }

        if (body.IsEmpty)
        {
            // Before TLS 1.2 a client may send no extensions.
            return ClientHelloStatus.Unnamed;
        }

        if (!TryTake(ref body, 2, out var extensions) || !body.IsEmpty)
        {
            return ClientHelloStatus.Invalid;
        }

        ReadOnlySpan<byte> name = default;
        while (!extensions.IsEmpty)
        {
            if (extensions.Length < 2)
            {
                return ClientHelloStatus.Invalid;
            }

            var type = BinaryPrimitives.ReadUInt16BigEndian(extensions);
            extensions = extensions[2..];
            if (!TryTake(ref extensions, 2, out var extension))
            {
                return ClientHelloStatus.Invalid;
            }

            if (type == ServerNameExtension && (!name.IsEmpty || !TryReadName(extension, out name)))
            {
                return ClientHelloStatus.Invalid;
            }

            if (type == ProtocolsExtension && !TryTake(ref extension, 2, out protocols))
            {
                protocols = default;
            }
        }

        serverName = name;
        return name.IsEmpty ? ClientHelloStatus.Unnamed : ClientHelloStatus.Named;
    }

    /// <summary>Reads the list of names, in which there is one host name.</summary>
    private static bool TryReadName(ReadOnlySpan<byte> extension, out ReadOnlySpan<byte> serverName)
    {
        serverName = default;
        if (!TryTake(ref extension, 2, out var names) || !extension.IsEmpty)
        {
            return false;
        }

        while (!names.IsEmpty)
        {
            var type = names[0];
            names = names[1..];
            if (!TryTake(ref names, 2, out var name) || name.IsEmpty || (type == HostNameType && !serverName.IsEmpty))
            {
                return false;
            }

            if (type == HostNameType)
            {
                serverName = name;
            }
        }

        return !serverName.IsEmpty;
    }

    private static bool TrySkip(scoped ref ReadOnlySpan<byte> rest, int lengthBytes) => TryTake(ref rest, lengthBytes, out _);

    private static bool TryTake(scoped ref ReadOnlySpan<byte> rest, int lengthBytes, out ReadOnlySpan<byte> taken)
    {
        taken = default;
        if (rest.Length < lengthBytes)
        {
            return false;
        }

        var length = lengthBytes == 1 ? rest[0] : BinaryPrimitives.ReadUInt16BigEndian(rest);
        if (rest.Length - lengthBytes < length)
        {
            return false;
        }

        taken = rest.Slice(lengthBytes, length);
        rest = rest[(lengthBytes + length)..];
        return true;
    }
}
