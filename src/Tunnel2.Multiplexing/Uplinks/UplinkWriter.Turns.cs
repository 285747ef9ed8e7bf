using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Uplinks;

/// <content>What goes into a batch. A build for comparison replaces this half (benchmarks/uplink-queues).</content>
internal sealed partial class UplinkWriter
{
    private const int MinimumTurnRoom = FrameHeader.Size + ProtocolLimits.MaxDataLength;

    private TunnelStream? _first;

    /// <summary>Whether a stream's frame did not fit into the last batch: it comes first in the next one.</summary>
    private bool IsTurnOpen => _first is not null;

    private int FillBatch(Span<byte> batch, bool closing)
    {
        var statistics = _uplink.Statistics;
        // Step 4: the batch takes the control frames, then one frame per stream and turn.
        var length = _control.CopyTo(batch, out var frames);
        _streamsInBatch = false;
        if (!closing)
        {
            while (length < _batchLimit && batch.Length - length >= MinimumTurnRoom)
            {
                var stream = _first;
                if (stream is null && !_ready.Reader.TryRead(out stream))
                {
                    break;
                }

                _first = null;
                var turn = stream.TakeTurn(batch[length..], out var written);
                length += written;
                frames += written > 0 ? 1 : 0;
                _streamsInBatch |= written > 0;
                if (turn == StreamTurn.Again)
                {
                    _ready.Writer.TryWrite(stream);
                }
                else if (turn == StreamTurn.NoRoom)
                {
                    _first = stream;
                    break;
                }
            }
        }

        statistics.FramesSent += frames;
        return length;
    }
}
