using System.Diagnostics.CodeAnalysis;
using System.IO.Compression;

namespace Tunnel2.Inspection.Messages;

/// <summary>
/// Decompresses the messages of one direction of <c>permessage-deflate</c>, which share a window: each is read with those before it (RFC
/// 7692 section 7.2.2). It gives up for good at a message that is malformed, and where far more comes out than goes in. One thread at a
/// time reads; any thread may release.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "Release lets go of them, on any thread.")]
internal sealed class MessageInflater
{
    /// <summary>What it is accounted for: the window, the state of the decoder, and its buffers.</summary>
    public const int Cost = 64 * 1024;

    /// <summary>How many bytes may come out for each that went in, and how many at any time.</summary>
    private const int MostPerByte = 64;

    private const int MostAtFirst = 4 * 1024 * 1024;

    private static readonly byte[] _tail = [0, 0, 0xFF, 0xFF];

    private readonly Lock _gate = new();
    private readonly IMessageSink _sink;
    private readonly Feed _feed = new();
    private readonly byte[] _output = new byte[4 * 1024];
    private DeflateStream? _decoder;
    private long _in;
    private long _out;
    private volatile bool _isReleased;

    private MessageInflater(IMessageSink sink)
    {
        _sink = sink;
        _decoder = new DeflateStream(_feed, CompressionMode.Decompress);
    }

    /// <summary>Makes one, where there is memory for it.</summary>
    public static MessageInflater? TryCreate(IMessageSink sink) => sink.TryReserve(Cost) ? new MessageInflater(sink) : null;

    /// <summary>Reads the next bytes of a message.</summary>
    /// <param name="data">The bytes, without a mask.</param>
    /// <param name="message">Gets what comes out.</param>
    /// <returns>False: it has given up.</returns>
    public bool TryRead(byte[] data, MessageBuffer message)
    {
        bool isGood;
        lock (_gate)
        {
            isGood = !_isReleased && TryReadUnsynchronized(data, message);
        }

        if (!isGood || _isReleased)
        {
            Release();
        }

        return isGood;
    }

    /// <summary>A message is whole.</summary>
    public bool TryEnd(MessageBuffer message) => TryRead(_tail, message);

    /// <summary>Lets go of its memory: at once, or as soon as the thread that reads has left it.</summary>
    public void Release()
    {
        _isReleased = true;
        if (!_gate.TryEnter())
        {
            return;
        }

        try
        {
            if (_decoder is { } decoder)
            {
                _decoder = null;
                decoder.Dispose();
                _sink.Free(Cost);
            }
        }
        finally
        {
            _gate.Exit();
        }
    }

    private bool TryReadUnsynchronized(byte[] data, MessageBuffer message)
    {
        if (_decoder is not { } decoder)
        {
            return false;
        }

        _in += data.Length;
        _feed.Next(data);
        try
        {
            while (decoder.Read(_output, 0, _output.Length) is > 0 and var count)
            {
                _out += count;
                if (_out > MostAtFirst + (MostPerByte * _in))
                {
                    return false;
                }

                message.Append(_output.AsSpan(0, count));
            }

            // What is left over comes after the end of the stream that the peer has declared: there is nothing to read it with.
            return _feed.IsRead;
        }
        catch (Exception exception) when (exception is InvalidDataException or InvalidOperationException or IOException)
        {
            return false;
        }
    }

    /// <summary>The bytes that came last. Its end is one for now only.</summary>
    private sealed class Feed : Stream
    {
        private byte[] _data = [];
        private int _at;

        public bool IsRead => _at == _data.Length;

        public override bool CanRead => true;

        public override bool CanSeek => false;

        public override bool CanWrite => false;

        public override long Length => throw new NotSupportedException();

        public override long Position { get => throw new NotSupportedException(); set => throw new NotSupportedException(); }

        public void Next(byte[] data) => (_data, _at) = (data, 0);

        public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

        public override int Read(Span<byte> buffer)
        {
            var count = Math.Min(buffer.Length, _data.Length - _at);
            _data.AsSpan(_at, count).CopyTo(buffer);
            _at += count;
            return count;
        }

        public override void Flush()
        {
        }

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
    }
}
