using System.Buffers.Binary;

namespace Tunnel2.Telemetry.Recording;

/// <summary>
/// A recording: magic(8) version(4) zero(4), little-endian, then frames of the relay (<see cref="Relay.RelayFrame"/>), of the kinds records
/// and gap only. Sequence numbers increase, except after a gap that reports another ring. Records that a filter dropped are missing without
/// a gap. Stateless.
/// </summary>
internal static class RecordingFormat
{
    /// <summary>"T2REC\r\n\n" as a little-endian number; a program that converts line ends damages it visibly.</summary>
    internal const ulong Magic = 0x0A0A_0D43_4552_3254;

    internal const uint Version = 1;
    internal const int HeaderLength = 16;

    internal static void WriteHeader(Span<byte> header)
    {
        BinaryPrimitives.WriteUInt64LittleEndian(header, Magic);
        BinaryPrimitives.WriteUInt32LittleEndian(header[8..], Version);
        BinaryPrimitives.WriteUInt32LittleEndian(header[12..], 0);
    }
}
