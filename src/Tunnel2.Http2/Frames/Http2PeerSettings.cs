using System.Buffers.Binary;

namespace Tunnel2.Http2.Frames;

/// <summary>What a server asks for in SETTINGS, with the values that hold before it does. A mutable struct: keep it in a field.</summary>
internal struct Http2PeerSettings
{
    public Http2PeerSettings()
    {
    }

    /// <summary>How many streams it takes at once; without a word: any number.</summary>
    public uint MaxConcurrentStreams { get; private set; } = uint.MaxValue;

    /// <summary>The window of a new stream, 0 to 2^31-1.</summary>
    public int InitialWindowSize { get; private set; } = Http2Frames.DefaultWindow;

    /// <summary>The largest payload of a frame that it takes, 16 KiB to 16 MiB.</summary>
    public int MaxFrameSize { get; private set; } = Http2Frames.DefaultMaxFrameSize;

    /// <summary>Whether it understands extended CONNECT (RFC 8441).</summary>
    public bool AllowsConnectProtocol { get; private set; }

    /// <summary>Takes over a SETTINGS frame's values, in their order.</summary>
    /// <param name="payload">The payload.</param>
    /// <returns>What is wrong with them; NoError: nothing.</returns>
    public Http2ErrorCode Apply(ReadOnlySpan<byte> payload)
    {
        if (payload.Length % Http2Frames.SettingLength != 0)
        {
            return Http2ErrorCode.FrameSizeError;
        }

        for (; !payload.IsEmpty; payload = payload[Http2Frames.SettingLength..])
        {
            var value = BinaryPrimitives.ReadUInt32BigEndian(payload[2..]);
            switch ((Http2SettingId)BinaryPrimitives.ReadUInt16BigEndian(payload))
            {
                case Http2SettingId.EnablePush when value != 0:
                    // A server must not send anything else than 0 (RFC 9113 section 6.5.2).
                    return Http2ErrorCode.ProtocolError;
                case Http2SettingId.MaxConcurrentStreams:
                    MaxConcurrentStreams = value;
                    break;
                case Http2SettingId.InitialWindowSize:
                    if (value > int.MaxValue)
                    {
                        return Http2ErrorCode.FlowControlError;
                    }

                    InitialWindowSize = (int)value;
                    break;
                case Http2SettingId.MaxFrameSize:
                    if (value is < Http2Frames.DefaultMaxFrameSize or > 0xff_ffff)
                    {
                        return Http2ErrorCode.ProtocolError;
                    }

                    MaxFrameSize = (int)value;
                    break;
                case Http2SettingId.EnableConnectProtocol:
                    // Once allowed, it stays allowed (RFC 8441 section 3).
                    if (value > 1 || (value == 0 && AllowsConnectProtocol))
                    {
                        return Http2ErrorCode.ProtocolError;
                    }

                    AllowsConnectProtocol = value == 1;
                    break;
                default:
                    break;
            }
        }

        return Http2ErrorCode.NoError;
    }
}
