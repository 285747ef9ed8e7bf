namespace Tunnel2.Inspection.Messages;

/// <summary>
/// Finds the events of a stream of server-sent events as they pass. An event's lines are kept as they are, up to a limit, and read when
/// a user looks. Not thread-safe.
/// </summary>
internal sealed class EventStreamReader(IMessageSink sink, int limit)
{
    private readonly MessageBuffer _event = new(sink, limit);
    private bool _lineIsEmpty = true;
    private bool _afterReturn;

    /// <summary>Reads the next bytes of the body.</summary>
    public void Read(ReadOnlySpan<byte> data)
    {
        while (!data.IsEmpty)
        {
            if (_afterReturn && data[0] == (byte)'\n')
            {
                data = data[1..];
                _afterReturn = false;
                continue;
            }

            _afterReturn = false;
            var end = data.IndexOfAny((byte)'\r', (byte)'\n');
            if (end != 0)
            {
                var run = end < 0 ? data : data[..end];
                _event.Append(run);
                _lineIsEmpty = false;
                data = data[run.Length..];
                continue;
            }

            _afterReturn = data[0] == (byte)'\r';
            data = data[1..];
            if (_lineIsEmpty)
            {
                Report();
            }
            else
            {
                _event.Append("\n"u8);
                _lineIsEmpty = true;
            }
        }
    }

    /// <summary>Gives back what is held of an event that will not end.</summary>
    public void End() => _event.Reset();

    private void Report()
    {
        if (_event.Length > 0)
        {
            sink.OnMessage(false, MessageKind.Event, _event.Kept, _event.Length, false);
        }

        _event.Reset();
    }
}
