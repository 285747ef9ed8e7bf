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

/// <summary>Reads a recording, from its beginning or from any frame on. Not thread-safe.</summary>
internal sealed class RecordingReader : IDisposable
{
    /// <summary>Where bytes look like many headers, as those of a crafted record may, the search for a frame ends.</summary>
    private const int MostBytesToCheck = 16 * 1024 * 1024;

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

    /// <summary>Bytes of the file now; null where it cannot be read from anywhere but its beginning.</summary>
    internal long? Length => _stream.CanSeek ? _stream.Length : null;

    /// <summary>Where the next frame begins, bytes from the start of the file.</summary>
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

    /// <summary>
    /// Goes to the first byte from <paramref name="from"/> on, and before <paramref name="before"/>, where bytes that check out as a whole
    /// frame begin. Bytes within a record may look like one: only a reader that comes there frame by frame knows that it is one.
    /// </summary>
    /// <returns>False when there is none; then <see cref="MoveTo"/> has to follow.</returns>
    internal bool TryMoveToFrame(long from, long before)
    {
        MoveTo(from);
        Fill(_buffer.Length);
        int checkedBytes = 0;
        for (int at = 0; at <= RelayFrame.HeaderLength + RelayFrame.MaxBody && from + at < before; at++)
        {
            ReadOnlySpan<byte> data = _buffer.AsSpan(at, _end - at);
            if (data.Length < RelayFrame.HeaderLength || checkedBytes > MostBytesToCheck)
            {
                break;
            }

            // The kind and the three zeros after it, as one number.
            if (BinaryPrimitives.ReadUInt32LittleEndian(data[4..]) is (uint)RelayFrameKind.Records or (uint)RelayFrameKind.Gap
                && BinaryPrimitives.ReadInt32LittleEndian(data) is >= 0 and <= RelayFrame.MaxBody and int length)
            {
                checkedBytes += length;
                if (RelayFrame.TryRead(data, out _, out _) > 0)
                {
                    _start = at;
                    Position = from + at;
                    return true;
                }
            }
        }

        return false;
    }

    /// <summary>Goes to a byte of a recording, where a frame begins. The stream can seek.</summary>
    internal void MoveTo(long position)
    {
        _stream.Position = position;
        (_start, _end, _atEnd) = (0, 0, false);
        Position = position;
        Status = RecordingStatus.Reading;
    }

    public void Dispose() => _stream.Dispose();

    private static bool HandOn(RelayFrameKind kind, ReadOnlySpan<byte> body, IEventRelaySink sink)
    {
        if (kind == RelayFrameKind.Gap && body.Length == 17)
        {
            var gap = new RingGap(
                BinaryPrimitives.ReadInt64LittleEndian(body), BinaryPrimitives.ReadInt64LittleEndian(body[8..]), (RingGapReason)body[16]);
            if (gap.Count < 0)
            {
                return false;
            }

            sink.OnGap(gap);
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
