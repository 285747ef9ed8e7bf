using System.Buffers.Binary;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Tunnel2.Http2.Frames;
using Tunnel2.Http2.Hpack;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>
/// Is between a visitor's connection and Kestrel's HTTP/2, and sees the frames of both directions pass. Kestrel has no way to send an
/// interim response, does not report the code of a visitor's reset, takes frames that carry nothing without end, and ends the connection
/// for a head that is too large. The link sends the first, keeps the second, bounds the third and shortens the last. Bytes that pass are
/// not copied, except header blocks of several frames. Thread-safe.
/// </summary>
/// <remarks>
/// One gate guards all state of both directions. It is held while bytes are looked at, and never during a wait.
/// </remarks>
internal sealed class Http2Link : IDuplexPipe
{
    /// <summary>Resets that are remembered: more than one connection has streams whose end was not seen yet.</summary>
    private const int Remembered = 2048;

    /// <summary>Answers that a reset has cut whose bytes are remembered, at most.</summary>
    private const int Cut = 256;

    /// <summary>Resets of our own that were announced and not seen yet, at most.</summary>
    private const int MostExpected = 1280;

    /// <summary>SETTINGS of the visitor that Kestrel has not answered yet, at most; more are a flood.</summary>
    private const int MostUnanswered = 64;

    /// <summary>The size of the table for header compression before SETTINGS, which Kestrel does not exceed.</summary>
    private const int DefaultTable = 4096;

    /// <summary>SETTINGS that say nothing of the table; as a size it is none that Kestrel would use.</summary>
    private const uint NoTable = uint.MaxValue;

    private readonly Queue<(uint Smallest, uint Last)> _tables = new();
    private readonly Dictionary<int, long> _sent = [];
    private readonly Action<Http2Flood>? _flooded;
    private readonly Http2LinkInput _input;
    private readonly Http2LinkOutput _output;
    private Http2FloodGuard _flood;
    private (int Id, uint Code)[]? _visitorResets;
    private int[]? _ownResets;
    private (int Id, long Sent)[]? _cut;
    private int _expectedResets;
    private int _lastStream;
    private (uint Smallest, uint Last)? _table;
    private bool _knowsTable = true;
    private bool _isRefused;

    /// <summary>Takes its place on a transport.</summary>
    /// <param name="transport">The visitor's connection, after TLS if there is any.</param>
    /// <param name="time">The clock.</param>
    /// <param name="heads">What is left of blocks that are too large.</param>
    /// <param name="flooded">Called once, when the connection is ended because of what the visitor sent.</param>
    public Http2Link(IDuplexPipe transport, TimeProvider time, HpackShortenerLimits heads, Action<Http2Flood>? flooded = null)
    {
        _flooded = flooded;
        _flood = new Http2FloodGuard(time);
        _input = new Http2LinkInput(this, transport.Input, heads);
        _output = new Http2LinkOutput(this, transport.Output);
    }

    /// <inheritdoc/>
    public PipeReader Input => _input;

    /// <inheritdoc/>
    public PipeWriter Output => _output;

    /// <summary>Guards the state of both directions.</summary>
    public Lock Gate { get; } = new();

    /// <summary>Whether the connection was ended because of what the visitor sent: nothing more of it is read.</summary>
    public bool IsRefused => Volatile.Read(ref _isRefused);

    /// <summary>The code with which the visitor has reset a stream; null when it has not.</summary>
    public int? CodeOf(int streamId)
    {
        lock (Gate)
        {
            return _visitorResets?[SlotOf(streamId)] is { } reset && reset.Id == streamId ? (int)Math.Min(reset.Code, int.MaxValue) : null;
        }
    }

    /// <summary>
    /// How many bytes of a body have been sent on a stream whose answer has begun and was not sent to its end. Kestrel takes more than the
    /// visitor's window allows, and drops it with the stream. Null: there is no such stream, or its reset is forgotten.
    /// </summary>
    public long? BodySentOf(int streamId)
    {
        lock (Gate)
        {
            return _sent.TryGetValue(streamId, out var sent) ? sent
                : _cut?[CutSlotOf(streamId)] is { } cut && cut.Id == streamId ? cut.Sent
                : null;
        }
    }

    /// <summary>
    /// A stream is about to be reset for a reason that is not the visitor's: its frame does not count as one that the visitor caused.
    /// </summary>
    public void ExpectReset()
    {
        lock (Gate)
        {
            _expectedResets = Math.Min(_expectedResets + 1, MostExpected);
        }
    }

    /// <summary>Sends an interim response, before anything else of the stream that is written after the call.</summary>
    /// <param name="streamId">The stream; its final head must not have been written.</param>
    /// <param name="head">The head.</param>
    /// <param name="edits">What a policy does with the fields; null: nothing.</param>
    /// <returns>False when it cannot be sent; it is dropped then, which is always allowed.</returns>
    public bool TrySendInterim(int streamId, scoped in HeaderBlock head, FieldEdits? edits = null)
    {
        using var block = InterimBlock.Encode(head, edits);
        return block.Bytes.Length > 0 && _output.TrySendBlock(streamId, block.Bytes);
    }

    /// <summary>Bytes of the visitor, before Kestrel reads them.</summary>
    /// <param name="frames">Finds the frames.</param>
    /// <param name="bytes">The bytes; shortened by what was looked at.</param>
    /// <param name="heads">How many heads may still pass; lessened by those that did.</param>
    /// <returns>Why it stopped after the header of a frame, if it did.</returns>
    public Http2LinkStop OnReceived(Http2FrameScanner frames, scoped ref ReadOnlySpan<byte> bytes, ref int heads)
    {
        Http2Flood? flood = null;
        lock (Gate)
        {
            while (!_isRefused && frames.TryRead(ref bytes, out var header, out var begin))
            {
                if (header.Type == Http2FrameType.Headers && --heads < 0)
                {
                    return Http2LinkStop.Turn;
                }

                if (!TryTakeUnsynchronized(header, begin))
                {
                    Volatile.Write(ref _isRefused, true);
                    flood = Http2Floods.KindOf(header.Type);
                }
                else if (header.Type == Http2FrameType.Headers && !header.Has(Http2FrameFlags.EndHeaders))
                {
                    return Http2LinkStop.Block;
                }
            }
        }

        if (flood is { } kind)
        {
            EndFor(kind);
        }

        return Http2LinkStop.None;
    }

    /// <summary>A CONTINUATION of a block that the visitor's side of the link takes apart itself.</summary>
    /// <param name="isTooMuch">Whether the block has become larger than any may be.</param>
    public void OnContinuation(bool isTooMuch)
    {
        lock (Gate)
        {
            if (_isRefused || (_flood.TryTake() && !isTooMuch))
            {
                return;
            }

            Volatile.Write(ref _isRefused, true);
        }

        EndFor(Http2Flood.Continuation);
    }

    /// <summary>A frame of ours that Kestrel has written. The gate is held.</summary>
    /// <returns>False when the visitor has made us send too many resets: the connection has to end.</returns>
    public bool OnSentUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> begin)
    {
        switch (header.Type)
        {
            case Http2FrameType.Headers:
                // Kestrel's block begins with the new size of the table, if there is one.
                _table = null;
                _flood.OnOwnFrame();
                CountUnsynchronized(header);
                return true;
            case Http2FrameType.Data:
                _flood.OnOwnData(header.Length);
                CountUnsynchronized(header);
                return true;
            case Http2FrameType.Settings when header.Has(Http2FrameFlags.Ack) && _tables.TryDequeue(out var table):
                _table = table.Smallest == NoTable ? _table : (Math.Min(_table?.Smallest ?? NoTable, table.Smallest), table.Last);
                return true;
            case Http2FrameType.RstStream when begin.Length == 4:
                _ownResets ??= new int[Remembered];
                _ownResets[SlotOf(header.StreamId)] = header.StreamId;
                OnCutUnsynchronized(header.StreamId);
                if ((Http2ErrorCode)BinaryPrimitives.ReadUInt32BigEndian(begin) == Http2ErrorCode.NoError)
                {
                    // After a complete answer: the rest of the request is not wanted.
                    return true;
                }

                if (_expectedResets > 0)
                {
                    _expectedResets--;
                    return true;
                }

                if (_isRefused || _flood.TryTake(Http2FloodGuard.PerReset))
                {
                    return true;
                }

                Volatile.Write(ref _isRefused, true);
                return false;
            default:
                return true;
        }
    }

    /// <summary>
    /// The connection has to end: Kestrel's reader learns that nothing more comes. Not under the gate, because Kestrel may continue inside
    /// the call.
    /// </summary>
    public void StopReading()
    {
        _flooded?.Invoke(Http2Flood.ForcedReset);
        _input.CancelPendingRead();
    }

    /// <summary>The last stream that the visitor has opened. The gate is held.</summary>
    public int LastStreamUnsynchronized => _lastStream;

    /// <summary>Whether a stream can still get a block of ours, as far as frames have shown. The gate is held.</summary>
    public bool IsOpenUnsynchronized(int streamId) =>
        _knowsTable
        && !_isRefused
        && _visitorResets?[SlotOf(streamId)].Id != streamId
        && _ownResets?[SlotOf(streamId)] != streamId;

    /// <summary>
    /// Writes what a block has to begin with: the size of the table that the visitor has made smaller, until a block of Kestrel's has done
    /// so (RFC 7541 section 4.2). The gate is held.
    /// </summary>
    /// <param name="destination">Room for two numbers.</param>
    /// <returns>Bytes written.</returns>
    public int WriteTableSizesUnsynchronized(Span<byte> destination)
    {
        if (_table is not { Smallest: < DefaultTable } table)
        {
            return 0;
        }

        const byte SizeUpdate = 0x20;
        var written = HpackInteger.Write(destination, SizeUpdate, 5, (int)table.Smallest);
        var last = (int)Math.Min(table.Last, DefaultTable);
        return last == table.Smallest ? written : written + HpackInteger.Write(destination[written..], SizeUpdate, 5, last);
    }

    private void EndFor(Http2Flood kind)
    {
        _flooded?.Invoke(kind);
        _output.End(Http2ErrorCode.EnhanceYourCalm);
    }

    private static int SlotOf(int streamId) => (streamId >> 1) & (Remembered - 1);

    /// <summary>Kestrel's frame of an answer. Its bytes are counted from its head on, until the answer or its stream ends.</summary>
    private void CountUnsynchronized(Http2FrameHeader header)
    {
        if (header.Has(Http2FrameFlags.EndStream))
        {
            _sent.Remove(header.StreamId);
        }
        else if (header.Type == Http2FrameType.Data)
        {
            ref var sent = ref CollectionsMarshal.GetValueRefOrNullRef(_sent, header.StreamId);
            if (!Unsafe.IsNullRef(ref sent))
            {
                sent += header.Length;
            }
        }
        else if (IsOpenUnsynchronized(header.StreamId))
        {
            _sent.TryAdd(header.StreamId, 0);
        }
    }

    /// <summary>A stream is reset: what was sent on it is kept for the exchange, which learns of the reset later.</summary>
    private void OnCutUnsynchronized(int streamId)
    {
        if (_sent.Remove(streamId, out var sent))
        {
            _cut ??= new (int, long)[Cut];
            _cut[CutSlotOf(streamId)] = (streamId, sent);
        }
    }

    private static int CutSlotOf(int streamId) => (streamId >> 1) & (Cut - 1);

    private bool TryTakeUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> begin) =>
        header.Type == Http2FrameType.WindowUpdate && begin.Length == 4
            ? _flood.TryTakeGrant(BinaryPrimitives.ReadInt32BigEndian(begin) & int.MaxValue)
            : _flood.TryTake(CostUnsynchronized(header, begin));

    /// <summary>What a frame of the visitor costs. HEADERS cost nothing: requests have limits of their own.</summary>
    private int CostUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> begin)
    {
        switch (header.Type)
        {
            case Http2FrameType.Headers:
                _lastStream = Math.Max(_lastStream, header.StreamId);
                return 0;
            case Http2FrameType.Data:
                var padding = begin.IsEmpty ? 0 : begin[0] + 1;
                return header.Length - padding > 0 || header.Has(Http2FrameFlags.EndStream) ? 0 : 1;
            case Http2FrameType.RstStream:
                if (begin.Length == 4)
                {
                    _visitorResets ??= new (int, uint)[Remembered];
                    _visitorResets[SlotOf(header.StreamId)] = (header.StreamId, BinaryPrimitives.ReadUInt32BigEndian(begin));
                    OnCutUnsynchronized(header.StreamId);
                }

                return Http2FloodGuard.PerReset;
            case Http2FrameType.Settings when !header.Has(Http2FrameFlags.Ack):
                ReadTableUnsynchronized(header, begin);
                return _tables.Count > MostUnanswered ? int.MaxValue : 1 + (header.Length / 64);
            default:
                return 1;
        }
    }

    private void ReadTableUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> settings)
    {
        // Of so many settings not all are seen. Only interim responses depend on it.
        _knowsTable &= header.Length == settings.Length;
        (uint Smallest, uint Last) table = (NoTable, NoTable);
        for (; settings.Length >= Http2Frames.SettingLength; settings = settings[Http2Frames.SettingLength..])
        {
            if ((Http2SettingId)BinaryPrimitives.ReadUInt16BigEndian(settings) == Http2SettingId.HeaderTableSize)
            {
                table.Last = BinaryPrimitives.ReadUInt32BigEndian(settings[2..]);
                table.Smallest = Math.Min(table.Smallest, table.Last);
            }
        }

        _tables.Enqueue(table);
    }
}

/// <summary>Why the look at a visitor's frames stops after the header of HEADERS.</summary>
internal enum Http2LinkStop
{
    /// <summary>It does not: more bytes are needed.</summary>
    None,

    /// <summary>The frame begins a block of several frames.</summary>
    Block,

    /// <summary>Enough heads have passed in this turn; the frame itself was not looked at.</summary>
    Turn,
}
