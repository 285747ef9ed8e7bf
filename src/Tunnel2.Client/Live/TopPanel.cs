using Tunnel2.Client.Terminals;

namespace Tunnel2.Client.Live;

/// <summary>Which page <c>tunnel2 top</c> shows.</summary>
internal enum TopPage
{
    Table,
    Session,
}

/// <summary>
/// The table of <c>tunnel2 top</c> on a terminal: what is known, and what the keys have chosen. The connection changes the one, the
/// screen's thread the other. Thread-safe.
/// </summary>
internal sealed class TopPanel : IScreenContent
{
    /// <summary>Names are no longer.</summary>
    private const int MostFilter = 50;

    private readonly Lock _gate = new();
    private readonly TopState _state;
    private readonly string _server;
    private readonly Func<long> _serverNowUs;
    private readonly Action _quit;
    private TaskCompletionSource _chosen = NewSignal();
    private TopPage _page;
    private TopSort _sort = TopSort.Default;
    private string _filter = "";
    private bool _isTyping;
    private bool _isHelp;
    private string? _selected;
    private int _offset;
    private int _pageRows = 1;
    private string[] _order = [];
    private string? _note = "connecting";
    private long _version;

    /// <param name="state">What is known; only used under <see cref="Change"/> from then on.</param>
    /// <param name="server">The server's name.</param>
    /// <param name="serverNowUs">The server's time of day, microseconds since 1970.</param>
    /// <param name="quit">Called when the user wants to leave; it returns at once.</param>
    public TopPanel(TopState state, string server, Func<long> serverNowUs, Action quit)
    {
        _state = state;
        _server = server;
        _serverNowUs = serverNowUs;
        _quit = quit;
    }

    /// <inheritdoc/>
    public long Version => Interlocked.Read(ref _version);

    /// <summary>The session that is looked at, or null.</summary>
    public string? WantedSession
    {
        get
        {
            lock (_gate)
            {
                return _page == TopPage.Session ? _selected : null;
            }
        }
    }

    /// <summary>Completes after the next choice of another session.</summary>
    public Task NextChoice()
    {
        lock (_gate)
        {
            if (_chosen.Task.IsCompleted)
            {
                _chosen = NewSignal();
            }

            return _chosen.Task;
        }
    }

    /// <summary>Changes what is known.</summary>
    public T Change<T>(Func<TopState, T> change)
    {
        lock (_gate)
        {
            return change(_state);
        }
    }

    /// <summary>Shows a note about the connection; null: all is well.</summary>
    public void Note(string? note)
    {
        lock (_gate)
        {
            _note = note;
            _version++;
        }
    }

    /// <inheritdoc/>
    public void OnKey(ScreenKey key)
    {
        bool quits = false;
        lock (_gate)
        {
            _version++;
            switch (_page)
            {
                case var _ when _isHelp:
                    _isHelp = false;
                    break;
                case var _ when !_isTyping && key is { Kind: ScreenKeyKind.Character, Character: '?' or 'h' }:
                    _isHelp = true;
                    break;
                case TopPage.Session when key is { Kind: ScreenKeyKind.Escape or ScreenKeyKind.Backspace }
                    or { Kind: ScreenKeyKind.Character, Character: 'q' }:
                    _page = TopPage.Table;
                    _chosen.TrySetResult();
                    break;
                case TopPage.Session:
                    OnWindowKeyUnsynchronized(key);
                    break;
                case TopPage.Table when _isTyping:
                    TypeUnsynchronized(key);
                    break;
                default:
                    quits = !TryActUnsynchronized(key);
                    break;
            }
        }

        if (quits)
        {
            _quit();
        }
    }

    /// <inheritdoc/>
    public IReadOnlyList<ScreenRow> Render(int columns, int rows)
    {
        lock (_gate)
        {
            long now = _serverNowUs();
            if (_isHelp)
            {
                return TopPanelView.Help(columns);
            }

            if (_page == TopPage.Session)
            {
                return TopPanelView.Session(_state, _selected!, _note, now, columns, rows);
            }

            List<ScreenRow> head = TopPanelView.Head(_state, _server, _note, now, columns);
            List<TopRow> all = _sort.Sort(_state.Sessions
                .Where(pair => pair.Key.Contains(_filter, StringComparison.OrdinalIgnoreCase))
                .Select(pair => new TopRow(
                    pair.Key,
                    pair.Value,
                    _state.Current(pair.Value, _state.Window, now))));
            _order = [.. all.Select(static row => row.Name)];

            // A heading and the line of keys below.
            _pageRows = Math.Max(1, rows - head.Count - 2);
            int at = SelectUnsynchronized();
            _offset = Math.Clamp(_offset, Math.Max(0, at - _pageRows + 1), Math.Max(0, at));
            _offset = Math.Clamp(_offset, 0, Math.Max(0, all.Count - _pageRows));
            head.Add(TopPanelView.Heading(_sort, columns));
            head.AddRange(all.Skip(_offset).Take(_pageRows)
                .Select(row => TopPanelView.Row(row, _state.WindowSeconds, row.Name == _selected, columns)));
            if (all.Count == 0)
            {
                head.Add(ScreenRow.Of(_state.Sessions.Count == 0 ? "no session yet" : "no session matches the filter", ScreenStyle.Dim));
            }

            while (head.Count < rows - 1)
            {
                head.Add(ScreenRow.Of(""));
            }

            head.Add(TopPanelView.Foot(_filter, _isTyping, at, all.Count, columns));
            return head;
        }
    }

    private static TaskCompletionSource NewSignal() => new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>The place of the selected session; the nearest one where it is not there any more.</summary>
    private int SelectUnsynchronized()
    {
        int at = _selected is null ? -1 : Array.IndexOf(_order, _selected);
        if (at < 0 && _order.Length > 0)
        {
            at = Math.Min(_offset, _order.Length - 1);
            _selected = _order[at];
        }

        return at;
    }

    private void TypeUnsynchronized(ScreenKey key)
    {
        switch (key.Kind)
        {
            case ScreenKeyKind.Character when _filter.Length < MostFilter:
                _filter += key.Character;
                break;
            case ScreenKeyKind.Backspace when _filter.Length > 0:
                _filter = _filter[..^1];
                break;
            case ScreenKeyKind.Backspace or ScreenKeyKind.Enter:
                _isTyping = false;
                break;
            case ScreenKeyKind.Escape:
                _isTyping = false;
                _filter = "";
                break;
        }
    }

    /// <returns>False: the user wants to leave.</returns>
    private bool TryActUnsynchronized(ScreenKey key)
    {
        switch (key.Kind)
        {
            case ScreenKeyKind.Up:
                MoveUnsynchronized(-1);
                break;
            case ScreenKeyKind.Down:
                MoveUnsynchronized(1);
                break;
            case ScreenKeyKind.PageUp:
                MoveUnsynchronized(-_pageRows);
                break;
            case ScreenKeyKind.PageDown:
                MoveUnsynchronized(_pageRows);
                break;
            case ScreenKeyKind.Home:
                MoveUnsynchronized(-_order.Length);
                break;
            case ScreenKeyKind.End:
                MoveUnsynchronized(_order.Length);
                break;
            case ScreenKeyKind.Enter when Array.IndexOf(_order, _selected) >= 0:
                _page = TopPage.Session;
                _chosen.TrySetResult();
                break;
            case ScreenKeyKind.Escape:
                _filter = "";
                break;
            case ScreenKeyKind.Character when key.Character is 'q' or 'Q':
                return false;
            case ScreenKeyKind.Character when key.Character == '/':
                _isTyping = true;
                break;
            case ScreenKeyKind.Character when key.Character is 's' or '>':
                SortUnsynchronized(1);
                break;
            case ScreenKeyKind.Character when key.Character is 'S' or '<':
                SortUnsynchronized(TopSort.Columns - 1);
                break;
            case ScreenKeyKind.Character when key.Character is >= '1' and < (char)('1' + TopSort.Columns):
                _sort = new TopSort((TopColumn)(key.Character - '1'), IsReversed: false);
                break;
            case ScreenKeyKind.Character when key.Character is 'r' or 'R':
                _sort = _sort with { IsReversed = !_sort.IsReversed };
                break;
            default:
                OnWindowKeyUnsynchronized(key);
                break;
        }

        return true;
    }

    private void OnWindowKeyUnsynchronized(ScreenKey key)
    {
        if (key is { Kind: ScreenKeyKind.Character, Character: 'w' })
        {
            _state.Window = (_state.Window + 1) % TopFigures.WindowKeys.Length;
        }
    }

    private void SortUnsynchronized(int columns) =>
        _sort = new TopSort((TopColumn)(((int)_sort.Column + columns) % TopSort.Columns), IsReversed: false);

    private void MoveUnsynchronized(int rows)
    {
        if (_order.Length > 0)
        {
            int at = Math.Max(0, Array.IndexOf(_order, _selected));
            _selected = _order[Math.Clamp(at + rows, 0, _order.Length - 1)];
        }
    }
}
