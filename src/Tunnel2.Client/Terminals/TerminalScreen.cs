using System.Runtime.InteropServices;
using System.Text;

namespace Tunnel2.Client.Terminals;

/// <summary>
/// Shows a content on a terminal, from a thread of its own: it reads keys, follows the terminal's size, and writes the rows that have
/// changed. A terminal that takes nothing costs frames and holds up no other thread. The terminal gets its own content and settings back at
/// the end, also after a signal, a stop (Ctrl+Z) and an exception that ends the process. Thread-safe.
/// </summary>
internal sealed class TerminalScreen : IDisposable
{
    // Another screen beside the shell's own, without cursor; rows that are too long for the terminal do not spill into the next one.
    private const string EnterSequence = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J\x1b[H";
    private const string LeaveSequence = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

    /// <summary>Ends a sequence of which the terminal has got a part only.</summary>
    private const string CancelSequence = "\x18";

    private static readonly TimeSpan _turn = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan _redrawEvery = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan _patience = TimeSpan.FromMilliseconds(500);

    private readonly ITerminal _terminal;
    private readonly IScreenContent _content;
    private readonly TimeProvider _time;
    private readonly bool _hasColors;
    private readonly KeyReader _keys = new();
    private readonly Lock _gate = new();
    private readonly ManualResetEventSlim _stop = new();

    // Never disposed of: a signal's handler may still use it, and it holds no handle.
    private readonly ManualResetEventSlim _continued = new();
    private readonly List<PosixSignalRegistration> _signals = [];
    private readonly byte[] _read = new byte[64];
    private Thread? _thread;
    private string[] _shown = [];
    private (int Columns, int Rows) _size;
    private byte[] _pending = [];
    private int _pendingFrom;
    private long _drawnVersion = -1;
    private long _drawnAt;
    private bool _isEntered;
    private volatile bool _mustEnterAgain;
    private volatile bool _isSuspended;
    private volatile bool _isOver;
    private bool _isDisposed;

    /// <param name="terminal">The terminal; this object disposes of it.</param>
    /// <param name="content">What is shown.</param>
    /// <param name="time">The clock.</param>
    /// <param name="hasColors">Whether colours may be used.</param>
    public TerminalScreen(ITerminal terminal, IScreenContent content, TimeProvider time, bool hasColors)
    {
        _terminal = terminal;
        _content = content;
        _time = time;
        _hasColors = hasColors;
    }

    /// <summary>Why nothing is shown any more; null: it is, or the screen was disposed of.</summary>
    public Exception? Fault { get; private set; }

    /// <summary>Whether nothing is shown any more: it was disposed of, or has failed.</summary>
    public bool IsOver => _isOver;

    /// <summary>Begins.</summary>
    public void Start()
    {
        AppDomain.CurrentDomain.UnhandledException += OnEnd;
        AppDomain.CurrentDomain.ProcessExit += OnEnd;

        if (!OperatingSystem.IsWindows())
        {
            // The one that ends the process at once gives it no other moment to put the terminal right.
            _signals.Add(PosixSignalRegistration.Create(PosixSignal.SIGQUIT, _ => Leave(isLast: true)));
            _signals.Add(PosixSignalRegistration.Create(PosixSignal.SIGTSTP, OnStop));
            _signals.Add(PosixSignalRegistration.Create(PosixSignal.SIGCONT, OnContinued));
        }

        _thread = new Thread(Run) { IsBackground = true, Name = "tunnel2 screen" };
        _thread.Start();
    }

    /// <summary>Gives the terminal back.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _isDisposed, true))
        {
            return;
        }

        _stop.Set();
        bool hasEnded = _thread?.Join(_patience) ?? true;
        Leave(isLast: true);
        AppDomain.CurrentDomain.UnhandledException -= OnEnd;
        AppDomain.CurrentDomain.ProcessExit -= OnEnd;
        foreach (PosixSignalRegistration signal in _signals)
        {
            signal.Dispose();
        }

        // A thread that is still held up by its terminal uses both.
        if (hasEnded)
        {
            _terminal.Dispose();
            _stop.Dispose();
        }
    }

    /// <summary>One turn: keys, then a frame if there is something new and the terminal has taken the last one.</summary>
    /// <param name="wait">How long to wait for keys.</param>
    internal void Turn(TimeSpan wait)
    {
        if (!TryStayEntered())
        {
            _stop.Wait(wait);
            return;
        }

        switch (_terminal.Read(_read, wait))
        {
            case > 0 and var count:
                _keys.Read(_read.AsSpan(0, count), OnKey);
                break;
            case 0:
                _keys.Pause(OnKey);
                break;
            default:
                _stop.Wait(wait);
                break;
        }

        lock (_gate)
        {
            if (_isEntered && TryFlushUnsynchronized(TimeSpan.Zero))
            {
                DrawUnsynchronized();
            }
        }
    }

    /// <summary>Gives the terminal back until the process is continued.</summary>
    internal void Suspend()
    {
        _isSuspended = true;
        Leave(isLast: false);
    }

    /// <summary>The process was continued: the terminal may have had other users.</summary>
    internal void Resume()
    {
        _mustEnterAgain = true;
        _isSuspended = false;
        _continued.Set();
    }

    private void Run()
    {
        try
        {
            while (!_stop.IsSet && !_isOver)
            {
                Turn(_turn);
            }
        }
        catch (Exception exception)
        {
            // The tunnel is worth more than its picture.
            Fault = exception;
            Leave(isLast: true);
        }
    }

    /// <returns>Whether the screen may read and draw.</returns>
    private bool TryStayEntered()
    {
        lock (_gate)
        {
            if (_isOver || _isSuspended)
            {
                return false;
            }

            if (_isEntered && !_mustEnterAgain)
            {
                return true;
            }

            // In the background the terminal is the shell's.
            if (!_terminal.IsForeground)
            {
                _isEntered = false;
                return false;
            }

            _mustEnterAgain = false;
            _isEntered = true;
            _terminal.EnterRaw();
            _pending = Encoding.UTF8.GetBytes(EnterSequence);
            _pendingFrom = 0;
            ForgetUnsynchronized();
            return true;
        }
    }

    private void OnKey(ScreenKey key)
    {
        if (key.Kind == ScreenKeyKind.Redraw)
        {
            lock (_gate)
            {
                ForgetUnsynchronized();
            }

            return;
        }

        _content.OnKey(key);
    }

    private void ForgetUnsynchronized()
    {
        _shown = [];
        _size = default;
        _drawnVersion = -1;
    }

    private void DrawUnsynchronized()
    {
        (int Columns, int Rows) size = _terminal.Size;
        long version = _content.Version;
        if (version == _drawnVersion && size == _size && _time.GetElapsedTime(_drawnAt) < _redrawEvery)
        {
            return;
        }

        var frame = new StringBuilder();
        if (size != _size)
        {
            frame.Append("\x1b[0m\x1b[2J");
            _shown = [];
        }

        IReadOnlyList<ScreenRow> content = _content.Render(size.Columns, size.Rows);
        var rows = new string[size.Rows];
        for (int i = 0; i < size.Rows; i++)
        {
            rows[i] = i < content.Count ? content[i].ToAnsi(size.Columns, _hasColors) : "";
            if (rows[i] != (i < _shown.Length ? _shown[i] : ""))
            {
                frame.Append(System.Globalization.CultureInfo.InvariantCulture, $"\x1b[{i + 1};1H\x1b[2K{rows[i]}");
            }
        }

        _shown = rows;
        _size = size;
        _drawnVersion = version;
        _drawnAt = _time.GetTimestamp();
        _pending = Encoding.UTF8.GetBytes(frame.ToString());
        _pendingFrom = 0;
        TryFlushUnsynchronized(TimeSpan.Zero);
    }

    /// <returns>Whether the terminal has taken the last frame.</returns>
    private bool TryFlushUnsynchronized(TimeSpan wait)
    {
        while (_pendingFrom < _pending.Length)
        {
            switch (_terminal.Write(_pending.AsSpan(_pendingFrom), wait))
            {
                case > 0 and var count:
                    _pendingFrom += count;
                    break;
                case 0:
                    return false;
                default:
                    // The terminal is gone: nothing is left to be put right.
                    _isEntered = false;
                    _isOver = true;
                    return false;
            }
        }

        return true;
    }

    private void OnContinued(PosixSignalContext context)
    {
        // The runtime would set the terminal as it found it, which stops a process in the background.
        context.Cancel = true;
        Resume();
    }

    private void OnStop(PosixSignalContext context)
    {
        context.Cancel = true;
        _continued.Reset();
        Suspend();
        _ = TerminalCalls.Kill(Environment.ProcessId, TerminalCalls.Stop);

        // The call may return before the process stops; and the first process of a container does not stop at all.
        _continued.Wait(_patience);
        Resume();
    }

    /// <summary>The process is about to end.</summary>
    internal void OnEnd(object? sender, EventArgs e) => Leave(isLast: true);

    private void Leave(bool isLast)
    {
        // A thread that is held up by the terminal has the gate; the process ends without it.
        if (!_gate.TryEnter(_patience))
        {
            return;
        }

        try
        {
            if (!_isEntered)
            {
                _isOver |= isLast;
                return;
            }

            _isEntered = false;
            bool isCut = _pendingFrom < _pending.Length;
            _pending = Encoding.UTF8.GetBytes((isCut ? CancelSequence : "") + LeaveSequence);
            _pendingFrom = 0;
            if (!TryFlushUnsynchronized(_patience) && !_isOver)
            {
                // A terminal that no program reads: what it was to show is worth less than that it is usable afterwards.
                _terminal.Discard();
                _pending = Encoding.UTF8.GetBytes(CancelSequence + LeaveSequence);
                _pendingFrom = 0;
                TryFlushUnsynchronized(_patience);
            }

            _terminal.LeaveRaw();
            _isOver |= isLast;
        }
        finally
        {
            _gate.Exit();
        }
    }
}
