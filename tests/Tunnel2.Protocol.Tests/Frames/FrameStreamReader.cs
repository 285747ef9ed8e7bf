using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Tests.Frames;

/// <summary>Cuts a byte stream into frames, as plainly as can be.</summary>
internal sealed class FrameStreamReader
{
    private readonly List<byte> _pending = [];

    public List<byte[]> Frames { get; } = [];

    public ProtocolError Error { get; private set; }

    public int Pending => _pending.Count;

    public void Append(ReadOnlySpan<byte> bytes)
    {
        _pending.AddRange(bytes);
        while (Error == ProtocolError.None && _pending.Count >= FrameHeader.Size)
        {
            Error = FrameHeader.TryRead(_pending.GetRange(0, FrameHeader.Size).ToArray(), out var header);
            var size = FrameHeader.Size + header.Length;
            if (Error != ProtocolError.None || _pending.Count < size)
            {
                return;
            }

            Frames.Add([.. _pending.GetRange(0, size)]);
            _pending.RemoveRange(0, size);
        }
    }
}
