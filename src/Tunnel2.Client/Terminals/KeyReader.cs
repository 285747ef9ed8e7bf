namespace Tunnel2.Client.Terminals;

/// <summary>
/// Turns the bytes of a terminal into keys. What it does not know is left out, whole: a sequence never becomes single characters. Not
/// thread-safe.
/// </summary>
internal sealed class KeyReader
{
    private const byte Escape = 0x1b;

    /// <summary>A longer sequence is no key.</summary>
    private const int MostParameters = 16;

    private readonly List<byte> _parameters = [];
    private State _state;

    private enum State
    {
        Ground,

        /// <summary>After ESC: a key of its own, unless a sequence follows.</summary>
        Escape,

        /// <summary>After ESC [, up to the last byte.</summary>
        Sequence,

        /// <summary>After ESC O: one more byte.</summary>
        Single,
    }

    /// <summary>Reads bytes.</summary>
    public void Read(ReadOnlySpan<byte> bytes, Action<ScreenKey> onKey)
    {
        foreach (byte value in bytes)
        {
            Read(value, onKey);
        }
    }

    /// <summary>No byte came for a moment: an ESC without a sequence was the key.</summary>
    public void Pause(Action<ScreenKey> onKey)
    {
        if (_state == State.Escape)
        {
            onKey(new ScreenKey(ScreenKeyKind.Escape));
        }

        _state = State.Ground;
    }

    private void Read(byte value, Action<ScreenKey> onKey)
    {
        switch (_state)
        {
            case State.Escape when value == '[':
                _state = State.Sequence;
                _parameters.Clear();
                return;
            case State.Escape when value == 'O':
                _state = State.Single;
                return;
            case State.Escape:
                onKey(new ScreenKey(ScreenKeyKind.Escape));
                _state = State.Ground;
                break;
            case State.Single:
                _state = State.Ground;
                Emit(Final(value), onKey);
                return;
            case State.Sequence when value is >= 0x20 and < 0x40:
                if (_parameters.Count < MostParameters)
                {
                    _parameters.Add(value);
                }

                return;
            case State.Sequence when value is >= 0x40 and < 0x7f:
                _state = State.Ground;
                Emit(value == '~' ? Numbered() : _parameters.Count == 0 ? Final(value) : null, onKey);
                return;
            case State.Sequence:
                _state = State.Ground;
                break;
        }

        switch (value)
        {
            case Escape:
                _state = State.Escape;
                break;
            case (byte)'\r' or (byte)'\n':
                onKey(new ScreenKey(ScreenKeyKind.Enter));
                break;
            case 0x7f or 0x08:
                onKey(new ScreenKey(ScreenKeyKind.Backspace));
                break;
            case 0x0c:
                onKey(new ScreenKey(ScreenKeyKind.Redraw));
                break;
            case >= 0x20 and < 0x7f:
                onKey(new ScreenKey(ScreenKeyKind.Character, (char)value));
                break;
        }
    }

    private ScreenKeyKind? Numbered() => _parameters switch
    {
        [(byte)'1'] or [(byte)'7'] => ScreenKeyKind.Home,
        [(byte)'4'] or [(byte)'8'] => ScreenKeyKind.End,
        [(byte)'5'] => ScreenKeyKind.PageUp,
        [(byte)'6'] => ScreenKeyKind.PageDown,
        _ => null,
    };

    private static ScreenKeyKind? Final(byte value) => (char)value switch
    {
        'A' => ScreenKeyKind.Up,
        'B' => ScreenKeyKind.Down,
        'H' => ScreenKeyKind.Home,
        'F' => ScreenKeyKind.End,
        'M' => ScreenKeyKind.Enter,
        _ => null,
    };

    private static void Emit(ScreenKeyKind? kind, Action<ScreenKey> onKey)
    {
        if (kind is { } known)
        {
            onKey(new ScreenKey(known));
        }
    }
}
