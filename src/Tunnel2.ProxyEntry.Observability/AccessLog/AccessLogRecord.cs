using System.Net;
using System.Runtime.CompilerServices;
using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>
/// One finished request, of fixed size and without references, so that it can be written in place into a ring that was allocated once.
/// Longer texts are cut.
/// </summary>
internal struct AccessLogRecord
{
    /// <summary>How many bytes of a method are kept at most.</summary>
    public const int MaxMethodLength = 16;

    /// <summary>How many bytes of <c>X-Forwarded-For</c> are kept at most.</summary>
    public const int MaxForwardedForLength = 64;

    /// <summary>How many bytes of a path are kept at most.</summary>
    public const int MaxPathLength = 384;

    /// <summary>When the request ended, UTC.</summary>
    public long EndedTicks;

    /// <summary>From the request's head to its end, in ticks of 100 ns.</summary>
    public long DurationTicks;

    /// <summary>From the request's head to the head of its response, in ticks of 100 ns; -1 when none came.</summary>
    public long FirstByteTicks;

    /// <summary>Body bytes from the visitor.</summary>
    public long BytesIn;

    /// <summary>Body bytes to the visitor.</summary>
    public long BytesOut;

    /// <summary>The stream that carried it.</summary>
    public StreamId Stream;

    /// <summary>The first four bytes of the session's id, as logs show it; meaningless without <see cref="HasSession"/>.</summary>
    public uint Session;

    /// <summary>The status that was sent, or 0.</summary>
    public int Status;

    public RequestOutcome Outcome;

    /// <summary>The tunnel's error; meaningless without <see cref="HasError"/>.</summary>
    public ProxyError Error;

    public short UplinkIndex;

    /// <summary>Whether a session was found. Otherwise <see cref="Name"/> is the request's Host.</summary>
    public bool HasSession;

    public bool HasError;

    /// <summary>Whether the path did not fit.</summary>
    public bool IsPathCut;

    /// <summary>0 when the address is not known, otherwise 4 or 16.</summary>
    public byte AddressLength;

    public byte NameLength;
    public byte MethodLength;
    public byte RequestIdLength;
    public byte ForwardedForLength;
    public short PathLength;
    public Bytes16 Address;
    public Bytes64 Name;
    public Bytes16 Method;
    public Bytes48 RequestId;
    public Bytes64 ForwardedFor;
    public Bytes384 Path;

    /// <summary>Sets the address; an IPv4 address always has its short form, also from a socket of IPv6.</summary>
    public void SetAddress(IPAddress? address)
    {
        AddressLength = 0;
        if (address is not null && address.TryWriteBytes(Address, out var length))
        {
            if (length == 16 && address.IsIPv4MappedToIPv6)
            {
                ((Span<byte>)Address)[12..].CopyTo(Address);
                length = 4;
            }

            AddressLength = (byte)length;
        }
    }

    /// <summary>The address as an object; for the writer's thread.</summary>
    public readonly IPAddress? GetAddress() => AddressLength == 0 ? null : new IPAddress(((ReadOnlySpan<byte>)Address)[..AddressLength]);

    /// <summary>Copies bytes, as many as fit.</summary>
    /// <returns>How many.</returns>
    public static int Copy(ReadOnlySpan<byte> bytes, Span<byte> destination)
    {
        var length = Math.Min(bytes.Length, destination.Length);
        bytes[..length].CopyTo(destination);
        return length;
    }

    /// <summary>Copies characters as bytes (Latin-1), as many as fit.</summary>
    /// <returns>How many.</returns>
    public static int Copy(ReadOnlySpan<char> text, Span<byte> destination)
    {
        var length = Math.Min(text.Length, destination.Length);
        System.Text.Encoding.Latin1.GetBytes(text[..length], destination);
        return length;
    }

    [InlineArray(16)]
    internal struct Bytes16
    {
        private byte _first;
    }

    [InlineArray(48)]
    internal struct Bytes48
    {
        private byte _first;
    }

    [InlineArray(64)]
    internal struct Bytes64
    {
        private byte _first;
    }

    [InlineArray(MaxPathLength)]
    internal struct Bytes384
    {
        private byte _first;
    }
}
