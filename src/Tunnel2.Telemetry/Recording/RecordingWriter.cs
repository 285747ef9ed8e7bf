using System.Buffers.Binary;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Files;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Telemetry.Recording;

/// <summary>
/// Writes records and gaps to a recording: the header of <see cref="RecordingFormat"/>, then the relay's own frames. <see cref="Flush"/>
/// gives them to the system. If a crash cuts a frame, its checksum shows this. Not thread-safe.
/// </summary>
internal sealed class RecordingWriter : IDisposable
{
    private const int FrameRoom = 64 * 1024;

    private readonly Stream _stream;
    private readonly byte[] _frame = new byte[FrameRoom];
    private int _length;
    private long _first;
    private uint _count;

    /// <summary>Starts a recording in an empty stream, which the writer owns from now on.</summary>
    /// <exception cref="IOException">The stream cannot be written.</exception>
    internal RecordingWriter(Stream stream)
    {
        _stream = stream;
        Span<byte> header = stackalloc byte[RecordingFormat.HeaderLength];
        RecordingFormat.WriteHeader(header);
        _stream.Write(header);
    }

    /// <summary>Creates a recording that only this user may read.</summary>
    /// <exception cref="IOException">The file exists already or cannot be created.</exception>
    internal static RecordingWriter Create(string path) =>
        new(OwnerOnlyFile.Open(path, FileMode.CreateNew, FileAccess.ReadWrite, FileShare.Read));

    /// <summary>Adds a record.</summary>
    internal void Add(long sequence, ushort type, ReadOnlySpan<byte> payload)
    {
        if (_count > 0 && (sequence != _first + _count || _length + 4 + payload.Length > FrameRoom))
        {
            WriteRecords();
        }

        if (_count == 0)
        {
            _first = sequence;
            _length = RelayFrame.HeaderLength + RelayFrame.RecordsHeaderLength;
        }

        BinaryPrimitives.WriteUInt32LittleEndian(_frame.AsSpan(_length), (ushort)payload.Length | ((uint)type << 16));
        payload.CopyTo(_frame.AsSpan(_length + 4));
        _length += 4 + payload.Length;
        _count++;
    }

    /// <summary>Adds a gap.</summary>
    internal void Add(in RingGap gap)
    {
        WriteRecords();
        Span<byte> frame = stackalloc byte[64];
        Write(frame[..RelayFrame.WriteGap(frame, gap)]);
    }

    /// <summary>Gives all added records and gaps to the system.</summary>
    /// <exception cref="IOException">The disk is full or the file is gone.</exception>
    internal void Flush()
    {
        WriteRecords();
        _stream.Flush();
    }

    public void Dispose()
    {
        try
        {
            Flush();
        }
        finally
        {
            _stream.Dispose();
        }
    }

    private void Write(ReadOnlySpan<byte> bytes)
    {
        try
        {
            _stream.Write(bytes);
        }
        catch (ArgumentOutOfRangeException exception)
        {
            // The runtime's exception for EFBIG: a limit of the file system or of the process on the size of a file.
            throw new IOException("The recording has become as large as a file may be here.", exception);
        }
    }

    private void WriteRecords()
    {
        if (_count == 0)
        {
            return;
        }

        BinaryPrimitives.WriteInt64LittleEndian(_frame.AsSpan(RelayFrame.HeaderLength), _first);
        BinaryPrimitives.WriteInt64LittleEndian(_frame.AsSpan(RelayFrame.HeaderLength + 8), _count);
        _count = 0;
        Write(_frame.AsSpan(0, RelayFrame.Finish(_frame, RelayFrameKind.Records, _length - RelayFrame.HeaderLength)));
    }
}
