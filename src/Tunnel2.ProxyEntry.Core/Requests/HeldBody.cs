using System.Buffers;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>A request's whole body, held until it may go to the service, and for as long as it may be tried again.</summary>
/// <param name="memory">Where its memory is counted.</param>
/// <param name="from">The visitor's address.</param>
/// <param name="reading">Ends the reading of the body. It lives until the body is accepted or released.</param>
internal sealed class HeldBody(HeldMemory memory, AddressKey from, CancellationTokenSource reading) : MemoryHolder(from)
{
    /// <summary>Memory is taken in such pieces.</summary>
    public const int PieceLength = 16 * 1024;

    private readonly List<byte[]> _pieces = [];

    /// <summary>Bytes held.</summary>
    public long Length { get; private set; }

    /// <summary>How many pieces there are.</summary>
    public int Count => _pieces.Count;

    /// <summary>A piece; each of them is full, except the last.</summary>
    public ReadOnlyMemory<byte> this[int index] =>
        _pieces[index].AsMemory(0, (int)Math.Min(PieceLength, Length - ((long)index * PieceLength)));

    /// <summary>Appends bytes.</summary>
    /// <returns>False when there is no memory left; then the body is not complete.</returns>
    public bool TryAdd(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            var offset = (int)(Length % PieceLength);
            if (offset == 0)
            {
                if (!memory.TryTake(this, PieceLength))
                {
                    return false;
                }

                _pieces.Add(ArrayPool<byte>.Shared.Rent(PieceLength));
            }

            var count = Math.Min(bytes.Length, PieceLength - offset);
            bytes[..count].CopyTo(_pieces[^1].AsSpan(offset));
            Length += count;
            bytes = bytes[count..];
        }

        return true;
    }

    /// <summary>Its signature is right, and the body whole: it counts for its visitor no more. Once.</summary>
    /// <returns>False when it had to give way before.</returns>
    public bool TryAccept() => memory.TryKeep(this);

    /// <summary>Gives everything back. Once, by the owner.</summary>
    public void Release()
    {
        foreach (var piece in _pieces)
        {
            ArrayPool<byte>.Shared.Return(piece);
        }

        memory.Return(this);
        _pieces.Clear();
        Length = 0;
    }

    /// <inheritdoc/>
    public override void GiveWay() => _ = reading.CancelAsync();
}
