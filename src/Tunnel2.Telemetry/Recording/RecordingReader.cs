using System.Buffers.Binary;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Telemetry.Recording;

/// <summary>The state of reading a recording.</summary>
internal enum RecordingStatus
{
    /// <summary>There may be more.</summary>
    Reading = 0,

    /// <summary>The whole file was read.</summary>
    Complete,

    /// <summary>The file is not a recording.</summary>
    NotARecording,

    /// <summary>Another version of the format.</summary>
    UnsupportedVersion,

    /// <summary>The file ends within a frame, as after a crash; all frames before that were read.</summary>
    CutShort,

    /// <summary>A frame's checksum or contents are wrong; all frames before that were read.</summary>
    Damaged,
}

/// <summary>Reads a recording from its beginning. Not thread-safe.</summary>
internal sealed class RecordingReader : IDisposable
{
    private readonly Stream _stream;
    private readonly byte[] _buffer = new byte[2 * (RelayFrame.HeaderLength + RelayFrame.MaxBody)];
    private int _start;
    private int _end;
    private bool _atEnd;

    /// <summary>Reads a stream, which the reader owns from now on.</summary>
    internal RecordingReader(Stream stream)
    {
        _stream = stream;
        Fill(RecordingFormat.HeaderLength);
        ReadOnlySpan<byte> header = _buffer.AsSpan(0, _end);
        if (header.Length < RecordingFormat.HeaderLength || BinaryPrimitives.ReadUInt64LittleEndian(header) != RecordingFormat.Magic)
        {
            Status = RecordingStatus.NotARecording;
        }
        else if (BinaryPrimitives.ReadUInt32LittleEndian(header[8..]) != RecordingFormat.Version)
        {
            Status = RecordingStatus.UnsupportedVersion;
        }

        _start = RecordingFormat.HeaderLength;
    }

    /// <summary>The state.</summary>
    internal RecordingStatus Status { get; private set; }

    /// <summary>The offset of the next frame in the file, in bytes.</summary>
    internal long Position { get; private set; } = RecordingFormat.HeaderLength;

    /// <summary>Passes the next frame's records or gap to the sink.</summary>
    /// <returns>False at the end; <see cref="Status"/> has its kind.</returns>
    internal bool TryRead(IEventRelaySink sink)
    {
        if (Status != RecordingStatus.Reading)
        {
            return false;
        }

        int length;
        RelayFrameKind kind;
        ReadOnlySpan<byte> body;
        while ((length = RelayFrame.TryRead(_buffer.AsSpan(_start, _end - _start), out kind, out body)) == 0)
        {
            if (_atEnd)
            {
                Status = _start == _end ? RecordingStatus.Complete : RecordingStatus.CutShort;
                return false;
            }

            Fill(_end - _start + 1);
        }

        if (length < 0 || !HandOn(kind, body, sink))
        {
            Status = RecordingStatus.Damaged;
            return false;
        }

        _start += length;
        Position += length;
        return true;
    }

    public void Dispose() => _stream.Dispose();

    private static bool HandOn(RelayFrameKind kind, ReadOnlySpan<byte> body, IEventRelaySink sink)
    {
        if (kind == RelayFrameKind.Gap && body.Length == 17)
        {
            sink.OnGap(new RingGap(
                BinaryPrimitives.ReadInt64LittleEndian(body), BinaryPrimitives.ReadInt64LittleEndian(body[8..]), (RingGapReason)body[16]));
            return true;
        }

        if (kind != RelayFrameKind.Records || body.Length < RelayFrame.RecordsHeaderLength)
        {
            return false;
        }

        long sequence = BinaryPrimitives.ReadInt64LittleEndian(body);
        uint count = BinaryPrimitives.ReadUInt32LittleEndian(body[8..]);
        body = body[RelayFrame.RecordsHeaderLength..];
        for (uint i = 0; i < count; i++)
        {
            uint head = body.Length < 4 ? 0 : BinaryPrimitives.ReadUInt32LittleEndian(body);
            int length = (ushort)head;
            if (body.Length < 4 + length)
            {
                return false;
            }

            sink.OnRecord(sequence++, (ushort)(head >> 16), body.Slice(4, length));
            body = body[(4 + length)..];
        }

        return body.IsEmpty;
    }

    private void Fill(int wanted)
    {
        if (_start > 0)
        {
            _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
            _end -= _start;
            _start = 0;
        }

        while (_end < wanted && !_atEnd)
        {
            int read = _stream.Read(_buffer, _end, _buffer.Length - _end);
            _end += read;
            _atEnd = read == 0;
        }
    }
}
