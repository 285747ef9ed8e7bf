using System.Buffers.Binary;

namespace Tunnel2.Telemetry.Recording;

/// <summary>
/// A recording: magic(8) version(4) zero(4), little-endian, then frames of the relay (<see cref="Relay.RelayFrame"/>), of which only
/// records and gaps occur. Sequence numbers rise, except for a gap that says that the ring is another one; what a filter left out is simply
/// not there, and is no gap. Stateless.
/// </summary>
internal static class RecordingFormat
{
    /// <summary>"T2REC\r\n\n" as a little-endian number; the line ends show a file that was mangled as text.</summary>
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
