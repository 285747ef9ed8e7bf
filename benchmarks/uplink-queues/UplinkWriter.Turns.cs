namespace Tunnel2.Multiplexing.Uplinks;

/// <content>For comparison, in the place of the product's half: a batch is the frames that wait in the literal queue.</content>
internal sealed partial class UplinkWriter
{
    /// <summary>A frame that did not fit stays in the channel.</summary>
    private static bool IsTurnOpen => false;

    private int FillBatch(Span<byte> batch, bool closing)
    {
        if (closing)
        {
            _ready.MakeFrames();
        }

        var length = 0;
        var frames = 0;
        _streamsInBatch = false;
        while (length < _batchLimit)
        {
            if (!_ready.Reader.TryCopy(batch[length..], out var copied, out var isOfStream))
            {
                break;
            }

            length += copied;
            frames += copied > 0 ? 1 : 0;
            _streamsInBatch |= isOfStream;
        }

        // There is room in the channel again: streams may wait outside.
        _ready.MakeFrames();
        _uplink.Statistics.FramesSent += frames;
        return length;
    }

    partial void OnMade() => _ready.Attach(_control, _buffers);
}
