using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Client.Tests.Ways;

/// <summary>A peer that answers with given pieces, each one receive, and then ends, or stays silent until it is aborted.</summary>
internal sealed class ScriptedPeer(IEnumerable<byte[]> pieces, bool staysSilent = false) : IUplinkTransport
{
    private readonly Queue<byte[]> _pieces = new(pieces.Where(static piece => piece.Length > 0));
    private readonly TaskCompletionSource<int> _silence = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public string RemoteName => "scripted";

    public List<byte> Sent { get; } = [];

    public string SentText => System.Text.Encoding.Latin1.GetString([.. Sent]);

    /// <summary>An answer that arrives in two pieces, cut there.</summary>
    public static ScriptedPeer CutAt(byte[] answer, int position) => new([answer[..position], answer[position..]]);

    /// <summary>An answer that arrives byte by byte.</summary>
    public static ScriptedPeer ByteByByte(byte[] answer) => new(answer.Select(static one => new[] { one }));

    public ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        if (_pieces.Count == 0)
        {
            return staysSilent ? new ValueTask<int>(_silence.Task) : new ValueTask<int>(0);
        }

        var piece = _pieces.Dequeue();
        var count = Math.Min(piece.Length, buffer.Length);
        piece.AsMemory(0, count).CopyTo(buffer);
        if (count < piece.Length)
        {
            var rest = new[] { piece[count..] }.Concat(_pieces).ToArray();
            _pieces.Clear();
            Array.ForEach(rest, _pieces.Enqueue);
        }

        return new ValueTask<int>(count);
    }

    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        Sent.AddRange(buffer.Span);
        return default;
    }

    public void ShutdownSend()
    {
    }

    public void Abort() => _silence.TrySetException(new IOException("Aborted."));

    public ValueTask DisposeAsync() => default;
}
