using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// The control frames that wait for the write loop. Appending never waits and never allocates for a frame: frames of streams are kept in
/// the streams themselves (one entry here each), credit of the uplink is summed up, pings are bounded. Only an overflow of pings can
/// make it refuse, and that ends the session. Thread-safe.
/// </summary>
internal sealed class ControlQueue
{
    /// <summary>How many PING answers may wait: a peer that sends more without reading the answers attacks or is broken.</summary>
    public const int MaxPendingAnswers = 64;

    private readonly ShortLock _gate = new();
    private readonly ReadyStreamChannel _ready;
    private readonly Queue<TunnelStream> _streams = new();
    private readonly ulong[] _answers = new ulong[MaxPendingAnswers];
    private int _answerCount;
    private ulong _ping;
    private bool _pingPending;
    private int _uplinkIncrement;
    private GoAwayPhase _goAway;
    private SessionEndReason _goAwayReason;
    private SessionEndReason _lastNotice;
    private string _goAwayText = "";
    private ServiceState _service;
    private uint _serviceCounter;
    private byte[]? _nodes;
    private uint _nodesCounter;

    /// <param name="ready">Each addition wakes its reader, the write loop: so none is made under a lock.</param>
    public ControlQueue(ReadyStreamChannel ready) => _ready = ready;

    /// <summary>Whether streams have control frames that did not fit into the last batch.</summary>
    public bool HasStreams
    {
        get
        {
            using (_gate.EnterScope())
            {
                return _streams.Count > 0;
            }
        }
    }

    public void AddStream(TunnelStream stream)
    {
        using (_gate.EnterScope())
        {
            _streams.Enqueue(stream);
        }

        _ready.Signal();
    }

    public void AddUplinkCredit(int increment)
    {
        using (_gate.EnterScope())
        {
            _uplinkIncrement += increment;
        }

        _ready.Signal();
    }

    public void AddPing(ulong opaque)
    {
        using (_gate.EnterScope())
        {
            _ping = opaque;
            _pingPending = true;
        }

        _ready.Signal();
    }

    public bool TryAddAnswer(ulong opaque)
    {
        using (_gate.EnterScope())
        {
            if (_answerCount == MaxPendingAnswers)
            {
                return false;
            }

            _answers[_answerCount++] = opaque;
        }

        _ready.Signal();
        return true;
    }

    /// <summary>Whether a GOAWAY was sent, or waits to be sent.</summary>
    public bool HasGoAway
    {
        get
        {
            using (_gate.EnterScope())
            {
                return _goAway != default;
            }
        }
    }

    public void AddGoAway(GoAwayPhase phase, SessionEndReason reason, string text)
    {
        using (_gate.EnterScope())
        {
            // An agent may take back its notice by handing over, and send it again. All others are sent once.
            var differs = phase == _goAway && phase == GoAwayPhase.Notice && reason != _lastNotice
                && (reason == SessionEndReason.HandOver || _lastNotice == SessionEndReason.HandOver);
            if (phase > _goAway || differs)
            {
                _goAway = phase;
                _lastNotice = reason;
                _goAwayReason = reason;
                _goAwayText = text;
            }
        }

        _ready.Signal();
    }

    /// <summary>Only the newest statement leaves.</summary>
    public void AddService(ServiceState state, uint counter)
    {
        using (_gate.EnterScope())
        {
            if (counter > _serviceCounter)
            {
                _service = state;
                _serviceCounter = counter;
            }
        }

        _ready.Signal();
    }

    /// <summary>Only the newest list leaves.</summary>
    public void AddNodes(byte[] frame, uint counter)
    {
        using (_gate.EnterScope())
        {
            if (counter > _nodesCounter)
            {
                _nodes = frame;
                _nodesCounter = counter;
            }
        }

        _ready.Signal();
    }

    /// <summary>Copies waiting control frames, as many as fit.</summary>
    /// <param name="room">Where to.</param>
    /// <param name="frames">Frames copied.</param>
    /// <returns>Bytes copied.</returns>
    public int CopyTo(Span<byte> room, out int frames)
    {
        var written = 0;
        frames = 0;
        using (_gate.EnterScope())
        {
            for (var i = 0; i < _answerCount; i++)
            {
                written += ControlFrames.WritePing(room[written..], _answers[i], ack: true);
                frames++;
            }

            _answerCount = 0;
            if (_pingPending)
            {
                written += ControlFrames.WritePing(room[written..], _ping, ack: false);
                _pingPending = false;
                frames++;
            }

            if (_uplinkIncrement > 0)
            {
                written += ControlFrames.WriteWindow(room[written..], StreamId.Uplink, _uplinkIncrement);
                _uplinkIncrement = 0;
                frames++;
            }

            if (_service != ServiceState.None)
            {
                written += ControlFrames.WriteService(room[written..], _service, _serviceCounter);
                _service = ServiceState.None;
                frames++;
            }

            if (_nodes is { } nodes)
            {
                nodes.CopyTo(room[written..]);
                written += nodes.Length;
                _nodes = null;
                frames++;
            }

            if (_goAwayReason != SessionEndReason.None)
            {
                written += ControlFrames.WriteGoAway(room[written..], _goAway, _goAwayReason, _goAwayText);
                _goAwayReason = SessionEndReason.None;
                frames++;
            }
        }

        while (room.Length - written >= ControlFrames.WindowSize + ControlFrames.RstSize && TryTakeStream(out var stream))
        {
            var length = stream.TakeControlTurn(room[written..]);
            written += length;
            frames += length > 0 ? 1 : 0;
        }

        return written;
    }

    private bool TryTakeStream([System.Diagnostics.CodeAnalysis.MaybeNullWhen(false)] out TunnelStream stream)
    {
        using (_gate.EnterScope())
        {
            return _streams.TryDequeue(out stream);
        }
    }
}
