using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.Client.Core.Http2;

/// <summary>
/// What has come of a response and was not read yet, in its order. Body bytes are bounded by the stream's window, heads by their number and
/// their size. The connection's gate guards it; the first piece belongs to the reader until it is consumed.
/// </summary>
internal sealed class Http2Inbox(BufferPool buffers)
{
    private const int SmallSegment = 4 * 1024;
    private const int Segment = 16 * 1024;

    private readonly Queue<Piece> _pieces = new();
    private Piece? _last;

    /// <summary>How many pieces there are.</summary>
    public int Count => _pieces.Count;

    /// <summary>Appends a header block.</summary>
    /// <param name="kind">A head or trailers.</param>
    /// <param name="block">Its bytes; they are copied.</param>
    public void AppendBlock(Http2ItemKind kind, ReadOnlySpan<byte> block)
    {
        var piece = new Piece(kind, buffers.Rent(block.Length));
        block.CopyTo(piece.Buffer);
        piece.End = block.Length;
        Add(piece);
    }

    /// <summary>Appends body bytes; they are copied.</summary>
    public void AppendData(ReadOnlySpan<byte> data)
    {
        while (!data.IsEmpty)
        {
            if (_last is not { Kind: Http2ItemKind.Data } last || last.End == last.Buffer.Length)
            {
                last = new Piece(Http2ItemKind.Data, buffers.Rent(data.Length <= SmallSegment ? SmallSegment : Segment));
                Add(last);
            }

            var count = Math.Min(data.Length, last.Buffer.Length - last.End);
            data[..count].CopyTo(last.Buffer.AsSpan(last.End));
            last.End += count;
            data = data[count..];
        }
    }

    /// <summary>The first piece, if there is one.</summary>
    public bool TryPeek(out Http2ItemKind kind, out ReadOnlyMemory<byte> memory)
    {
        if (!_pieces.TryPeek(out var first))
        {
            kind = Http2ItemKind.None;
            memory = default;
            return false;
        }

        kind = first.Kind;
        memory = first.Buffer.AsMemory(first.Start, first.End - first.Start);
        return true;
    }

    /// <summary>The first piece, a header block, was read.</summary>
    public void ConsumeBlock() => Remove(_pieces.Peek());

    /// <summary>Bytes of the first piece were read.</summary>
    public void ConsumeData(int count)
    {
        var first = _pieces.Peek();
        first.Start += count;
        if (first.Start == first.End)
        {
            Remove(first);
        }
    }

    /// <summary>Gives everything back.</summary>
    public void Clear()
    {
        while (_pieces.TryPeek(out var first))
        {
            Remove(first);
        }
    }

    private void Add(Piece piece)
    {
        _pieces.Enqueue(piece);
        _last = piece;
    }

    private void Remove(Piece first)
    {
        _pieces.Dequeue();
        if (_last == first)
        {
            _last = null;
        }

        buffers.Return(first.Buffer);
    }

    private sealed class Piece(Http2ItemKind kind, byte[] buffer)
    {
        public Http2ItemKind Kind => kind;

        public byte[] Buffer => buffer;

        public int Start { get; set; }

        public int End { get; set; }
    }
}
